# modelpatch in an image without anything else. Release images are made by packaging/build.py without a daemon; this file is for those
# who build their own:
#
#   docker build -t modelpatch . && docker run --rm -v "$PWD:/models" modelpatch inspect model.gguf
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o /out/usr/bin/ ./cmd/modelpatch ./cmd/modelpatch-remote
# `inspect -` and compressed models are unpacked in /tmp, which scratch has not.
RUN mkdir -p -m 1777 /out/tmp && mkdir -p /out/models && chown 65532:65532 /out/models

FROM scratch
COPY --from=build /out/ /
COPY LICENSE /usr/share/doc/modelpatch/
USER 65532:65532
WORKDIR /models
ENV TMPDIR=/tmp
ENTRYPOINT ["/usr/bin/modelpatch"]
