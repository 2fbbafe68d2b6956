# syntax=docker/dockerfile:1
# The binary `semel`, static, in an image with nothing else but certificates and an account.
#   docker build -t semel .
#   docker run -p 7070:7070 -v semel:/data -v "$PWD/semel.yaml:/etc/semel/semel.yaml:ro" semel

FROM rust:1.95-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends musl-tools \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo xtask dist --out /dist \
    && mkdir /unpacked /data \
    && tar --extract --gzip --strip-components=1 --directory /unpacked --file /dist/semel-*-linux.tar.gz \
    && sed --in-place 's#sqlite:/var/lib/semel/#sqlite:/data/#' /unpacked/semel.yaml

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /unpacked/semel /usr/bin/semel
COPY --from=build /unpacked/semel.yaml /etc/semel/semel.yaml
COPY --from=build --chown=nonroot:nonroot /data /data
VOLUME /data
WORKDIR /data
USER nonroot
EXPOSE 7070 7071 7072
# There is neither a shell nor curl: the program asks its own admin side, which the file names.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
    CMD ["/usr/bin/semel", "health", "--config", "/etc/semel/semel.yaml"]
ENTRYPOINT ["/usr/bin/semel"]
CMD ["serve", "--config", "/etc/semel/semel.yaml"]
