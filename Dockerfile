# isocenterd in a small image.
#
#   docker build -t isocenter:cpu .
#   docker build -t isocenter:gpu --build-arg BUILD_BASE=nvidia/cuda:13.0.2-devel-ubuntu24.04 \
#     --build-arg RUNTIME_BASE=nvidia/cuda:13.0.2-base-ubuntu24.04 .
#
# podman and buildah need --format docker for the health check.
# PACKAGE_FROM=prebuilt takes what `./dev package` has left in dist/ instead of building it in the image.
# The runtime needs glibc 2.36 or newer, useradd and dpkg-query; the GPU's driver comes from the host.
ARG BUILD_BASE=debian:12-slim
ARG RUNTIME_BASE=debian:12-slim
ARG PACKAGE_FROM=build

FROM ${BUILD_BASE} AS build
WORKDIR /src
COPY . .
RUN ./dev setup build packaging page && ./dev package && mkdir /dist && cp dist/isocenter-*.tar.gz /dist/

FROM scratch AS prebuilt
COPY dist/isocenter-*.tar.gz /dist/

# The default once more: buildah 1.28 does not see the one above when it looks for the stages that it needs.
FROM ${PACKAGE_FROM:-build} AS package

FROM ${RUNTIME_BASE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Isocenter" \
      org.opencontainers.image.description="Cone-beam CT reconstruction service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=package /dist /tmp/dist
COPY tools/dev/image_sbom.sh /tmp/image_sbom.sh
RUN mkdir -p /opt/isocenter && \
    tar -C /opt/isocenter --strip-components=1 --no-same-owner -xzf /tmp/dist/isocenter-*.tar.gz && \
    useradd --system --uid 10001 --user-group --no-create-home --home-dir /var/lib/isocenter isocenter && \
    install -d -o isocenter -g isocenter -m 0750 /var/lib/isocenter && \
    sh /tmp/image_sbom.sh "${VERSION}" >/opt/isocenter/image.spdx.json && \
    rm -rf /tmp/dist /tmp/image_sbom.sh
ENV PATH=/opt/isocenter/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    TCP_NODELAY=1 \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
WORKDIR /var/lib/isocenter
# The only place that is written to: everything else may be read-only (docker run --read-only).
VOLUME /var/lib/isocenter
# gRPC, metrics, DICOM without and with TLS, operator page (only with certificates and sign-in).
EXPOSE 50051 9464 11112 2762 8443
STOPSIGNAL SIGTERM
# With TLS, ISOCENTER_SERVER, ISOCENTER_CA, ISOCENTER_CERT and ISOCENTER_KEY say how to ask.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["isocenter", "health"]
ENTRYPOINT ["isocenterd"]
# Without arguments nobody outside of the container reaches it. What listens beyond takes --config with certificates and sign-in, or
# says that the network keeps strangers away (--unprotected_listener).
CMD ["--archive", "/var/lib/isocenter/archive"]
