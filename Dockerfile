# isocenterd for the CPU: built with the project's own ./dev, then copied into a small image as `./dev package` lays it out.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY . .
RUN ./dev setup build check page && ./dev package && mkdir /out && tar -C /out --strip-components=1 -xzf dist/isocenter-*.tar.gz

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/isocenter isocenter
COPY --from=build /out /opt/isocenter
ENV PATH=/opt/isocenter/bin:$PATH TCP_NODELAY=1
USER isocenter
WORKDIR /var/lib/isocenter
VOLUME /var/lib/isocenter
EXPOSE 50051 9464 11112
ENTRYPOINT ["isocenterd", "--grpc_address", "0.0.0.0:50051", "--metrics_address", "0.0.0.0:9464", \
            "--dicom_address", "0.0.0.0", "--archive", "/var/lib/isocenter/archive"]
