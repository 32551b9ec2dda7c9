"""The single gate and its mechanisms: exact noise, clipping, partition selection and propose-test-release."""
