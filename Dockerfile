# modelpatch in an image without anything else. Release images are made by packaging/build.py without a daemon; this file is for those
# who build their own:
#
#   docker build -t modelpatch . && docker run --rm -v "$PWD:/models" modelpatch inspect model.gguf
# golang:1.26, by its digest: a tag may be moved.
FROM golang:1.26@sha256:3aff6657219a4d9c14e27fb1d8976c49c29fddb70ba835014f477e1c70636647 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o /out/usr/bin/ ./cmd/modelpatch ./cmd/modelpatch-remote
RUN mkdir -p /out/usr/share/doc/modelpatch && go run ./internal/notices ./cmd/modelpatch ./cmd/modelpatch-remote >/out/usr/share/doc/modelpatch/THIRD_PARTY_LICENSES
# `inspect -` and compressed models are unpacked in /tmp, which scratch has not.
RUN mkdir -p -m 1777 /out/tmp && mkdir -p /out/models && chown 65532:65532 /out/models

FROM scratch
COPY --from=build /out/ /
COPY LICENSE /usr/share/doc/modelpatch/
USER 65532:65532
WORKDIR /models
ENV TMPDIR=/tmp
ENTRYPOINT ["/usr/bin/modelpatch"]
