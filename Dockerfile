# docker build -t dplda .
# docs/install.md says how to run the image, and docs/verify.md what is pinned here.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS base

# Every wheel that may be installed: what the lock lists, checked against its hashes, and dplda.
FROM base AS build
COPY requirements.lock /source/
RUN pip download --no-cache-dir --require-hashes --only-binary :all: --dest /wheels --requirement /source/requirements.lock
COPY . /source
RUN pip install --no-index --find-links /wheels flit-core \
    && pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /wheels /source

FROM base
# Such as --build-arg EXTRAS=[documents,japanese]
ARG EXTRAS=""
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "dplda${EXTRAS}"

# The ledger lies with the data. In the container it would be lost, and with it the record of what was spent. A witness
# in the container would be lost, too: docs/install.md says how to name a folder that is mounted.
ENV HOME=/var/lib/dplda DPLDA_LEDGER=/data/ledger.db DPLDA_WITNESS=off
RUN useradd --uid 1000 --home-dir "$HOME" --create-home dplda && install --directory --owner dplda /data
USER dplda

# Compile the kernels for this processor. Other users (docker run --user) may use them and add to them.
RUN cd "$(mktemp -d)" && export DPLDA_LEDGER=ledger.db DPLDA_CACHE=cache \
    && dplda corpus sample sample \
    && dplda fit sample/sample.jsonl.gz --text-field text --unit document --quiet \
    && dplda tabulate sample sample/sample.jsonl.gz --text-field text --quiet \
    && rm -r "$PWD" && chmod -R a+rwX "$HOME"

VOLUME /data
WORKDIR /data
ENTRYPOINT ["dplda"]
