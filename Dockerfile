# One image with the five commands and the hook programs, and NATS with the settings they count on.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
COPY pkg pkg
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/ ./cmd/... \
 && mkdir -m 0700 /data /pins /creds /enrol /enrol/publisher /enrol/tracker \
 && cd /creds && mkdir -m 0700 nats owner publisher auditor tracker metrics reader decide

# busybox for the health checks; the commands themselves need nothing. A new volume
# takes the owner and the mode of the folder that it is mounted on.
FROM busybox:1.37-musl AS hooktrail
COPY --from=build /out/ /usr/local/bin/
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build --chown=65532:65532 /pins /pins
COPY --from=build --chown=65532:65532 /creds /creds
COPY --from=build --chown=65532:65532 /enrol /enrol
COPY LICENSE /
# Keys that were seen first are remembered apart from the data that they vouch for.
ENV HOOKTRAIL_DATA_DIR=/data HOOKTRAIL_KNOWN_LEDGERS=/pins/known_ledgers
USER 65532:65532
CMD ["hooktrail", "up"]

# It starts only with auth/accounts.conf, which "hooktrail nats creds" writes.
FROM nats:2.15-alpine AS nats
COPY deploy/nats.conf /etc/nats/nats.conf
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build --chown=65532:65532 /creds/nats /etc/nats/auth
USER 65532:65532
CMD ["nats-server", "--config", "/etc/nats/nats.conf"]
