# docker build -t dplda .
# docs/install.md says how to run the image.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:${PYTHON}-slim
# Such as --build-arg EXTRAS=[documents,japanese]
ARG EXTRAS=""
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --only-binary :all: "$(echo /wheels/*.whl)${EXTRAS}"

# The ledger lies with the data. In the container it would be lost, and with it the record of what was spent.
ENV HOME=/var/lib/dplda DPLDA_LEDGER=/data/ledger.db
RUN useradd --uid 1000 --home-dir "$HOME" --create-home dplda && install --directory --owner dplda /data
USER dplda

# Compile the kernels for this processor. Other users (docker run --user) may use them and add to them.
RUN cd "$(mktemp -d)" && export DPLDA_LEDGER=ledger.db DPLDA_CACHE=cache \
    && dplda corpus sample sample \
    && dplda fit sample/sample.jsonl.gz --text-field text --quiet \
    && dplda tabulate sample sample/sample.jsonl.gz --text-field text --quiet \
    && rm -r "$PWD" && chmod -R a+rwX "$HOME"

VOLUME /data
WORKDIR /data
ENTRYPOINT ["dplda"]
