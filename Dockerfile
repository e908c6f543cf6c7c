# The image of the service. Build it in the root of the repository:
#
#   docker build --tag parley .
#
# BUILD_IMAGE needs Node 20 or newer and npm. RUNTIME_IMAGE needs only glibc and libstdc++: the service brings its own Node and
# PostgreSQL. For a registry of your own, pass its settings as a secret, which is not stored:
#
#   docker build --secret id=npmrc,src="$HOME/.npmrc" --tag parley .
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim
ARG RUNTIME_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /source
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node_modules/.bin/node scripts/release.ts --unpacked /app
WORKDIR /app
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --omit=dev --no-audit --no-fund
# The root may be read-only later, so this creates the links of the embedded database and the compiled code, which Node keeps per
# user. The headers of Node (67 MB) are not needed.
ENV NODE_COMPILE_CACHE=/app/node_modules/.cache/compiled
RUN rm -r node_modules/node-linux-*/include && mkdir node_modules/.cache && chown 10001:10001 node_modules/.cache \
  && NODE_DISABLE_COMPILE_CACHE=1 node_modules/.bin/node scripts/setup.ts
USER 10001:10001
RUN node_modules/.bin/node -e "for (const name of ['app', 'worker', 'prepare', 'roles']) import('/app/server/' + name + '.ts')"

FROM ${RUNTIME_IMAGE}
COPY --from=build /app /app
# The embedded database starts only as a user with a name.
RUN echo 'parley:x:10001:10001::/data:/usr/sbin/nologin' >> /etc/passwd && echo 'parley:x:10001:' >> /etc/group \
  && mkdir /data /backups && chown 10001:10001 /data /backups && ln -s /app/bin/parley /usr/local/bin/parley
# PUBLIC_URL is for a first try on this machine.
ENV HOST=0.0.0.0 \
  PUBLIC_URL=http://127.0.0.1:4000 \
  DATA_DIR=/data \
  PARLEY_COMMAND=parley \
  NODE_COMPILE_CACHE=/app/node_modules/.cache/compiled \
  PATH=/app/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
USER 10001:10001
VOLUME /data
EXPOSE 4000
STOPSIGNAL SIGTERM
# A start with long migrations does not listen yet.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10m --retries=3 CMD ["node", "/app/scripts/health.js"]
# No shell and no npm: signals reach the service itself.
CMD ["node", "/app/server/main.ts"]
