# An image for CPUs, with review and serve:
#   docker build --tag taxoexpan .
#   docker run --rm --read-only --tmpfs /tmp --volume "$PWD:/work" taxoexpan check topics.ttl
# docs/guides/installing.md has more, such as a much smaller image with a CPU build of torch.
# The image of September 2026, for all platforms of the tag.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${PYTHON_IMAGE} AS build
# An index with CPU builds of torch; without one, the build for NVIDIA GPUs is installed.
ARG PIP_EXTRA_INDEX_URL=
ARG EXTRAS=web
WORKDIR /source
COPY constraints.txt ./
# The constraints also pin the packages that build the wheel.
ENV PIP_CONSTRAINT=/source/constraints.txt PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/taxoexpan
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# All modules are compiled now, because a read-only container could never store the result.
RUN /opt/taxoexpan/bin/pip install ".[${EXTRAS}]" \
    && /opt/taxoexpan/bin/pip uninstall --yes pip \
    && /opt/taxoexpan/bin/taxoexpan doctor

FROM ${PYTHON_IMAGE}
# git writes and reads patches and earlier versions of a file.
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/taxoexpan /opt/taxoexpan
COPY packaging/docker/healthcheck.py /opt/taxoexpan/healthcheck.py
# A fixed number, so that files on a volume always have the same owner. It needs no home folder,
# and no vectors are cached unless TAXOEXPAN_CACHE names a folder on a volume.
ENV PATH=/opt/taxoexpan/bin:$PATH PYTHONDONTWRITEBYTECODE=1 HOME=/tmp TAXOEXPAN_CACHE=
USER 10001:10001
WORKDIR /work
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
    CMD ["python", "/opt/taxoexpan/healthcheck.py"]
ENTRYPOINT ["taxoexpan"]
CMD ["--help"]
