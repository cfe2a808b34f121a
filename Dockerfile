# An image with the bridge, the Claude Code CLI, and what agents use most. Everything that must last is in /data.
#   docker build -t magpie .
#   docker run --rm -it -v magpie:/data magpie setup --project /data/work --start no
#   docker run --rm -it -v magpie:/data --entrypoint claude magpie auth login
#   docker run -d --name magpie --restart unless-stopped -v magpie:/data magpie
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=1 go build -trimpath -buildvcs=false -tags sqlite_fts5,sqlite_omit_load_extension,netgo,osusergo \
    -ldflags "-s -w -linkmode external -extldflags -static" -o /magpie ./cmd/magpie

FROM node:22-bookworm-slim
RUN apt-get update && \
    apt-get install -y --no-install-recommends ca-certificates curl git jq openssh-client procps ripgrep && \
    rm -rf /var/lib/apt/lists/*
# The newest version with which Magpie was tested.
ARG CLAUDE_CODE=2.1.332
RUN npm install -g "@anthropic-ai/claude-code@$CLAUDE_CODE" && npm cache clean --force
COPY --from=build /magpie /usr/local/bin/magpie
RUN useradd --uid 10001 --user-group --create-home --home-dir /data --shell /bin/bash magpie
USER 10001:10001
ENV HOME=/data
WORKDIR /data
VOLUME /data
ENTRYPOINT ["magpie"]
CMD ["serve"]
