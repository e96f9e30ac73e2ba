# The image of wield: serves the tools of /tools over HTTP, as a user without rights, on a read-only root file system.
#
#   docker build -t wield .
#   docker run --read-only --tmpfs /tmp -v wield:/var/lib/wield -v "$PWD:/tools:ro" -e WIELD_TOKEN -p 7070:7070 wield
#
# Tools need their interpreters: build an image on this one that installs them, and copies the tools.
FROM node:24-trixie-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --ignore-scripts && npm run build && npm pack --ignore-scripts --pack-destination /tmp
# With the clients of a fleet. Node 24 has SQLite, so libsql is left out.
RUN npm install --prefix /opt/wield --omit=optional --ignore-scripts --no-audit --no-fund /tmp/wield-*.tgz bullmq@6 ioredis@6

FROM node:24-trixie-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git tini \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --home-dir /var/lib/wield --shell /usr/sbin/nologin wield \
  && install --directory --owner wield --mode 0700 /var/lib/wield \
  && ln -s /opt/wield/node_modules/.bin/wield /usr/local/bin/wield
COPY --from=build /opt/wield /opt/wield
ENV HOME=/var/lib/wield WIELD_HOME=/var/lib/wield NODE_ENV=production
WORKDIR /tools
USER 10001
VOLUME /var/lib/wield
EXPOSE 7070
# A worker answers the same probe with `--health 7070`.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "-e", "fetch('http://127.0.0.1:7070/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# tini ends processes that tools left behind.
ENTRYPOINT ["tini", "--", "wield"]
CMD ["serve", "--http", "0.0.0.0:7070", "--trust"]
