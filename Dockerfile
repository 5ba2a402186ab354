FROM python:3.13-slim AS build
WORKDIR /opt/pagefault
RUN python -m venv .venv
COPY requirements/runtime.lock requirements/runtime.lock
RUN .venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/runtime.lock

# Node.js comes from the same locks as everywhere, and none of it goes into the image.
FROM build AS wheel
COPY requirements/web.lock requirements/web.lock
RUN .venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/web.lock
ENV PATH=/opt/pagefault/.venv/bin:$PATH
COPY web/package.json web/package-lock.json web/.npmrc web/
RUN npm --prefix web ci --ignore-scripts --no-audit --no-fund
COPY openapi/openapi.json openapi/openapi.json
COPY clients/typescript clients/typescript
COPY web web
RUN npm --prefix web run build
COPY pyproject.toml package_build.py README.md LICENSE ./
COPY app app
COPY packages/bundles/src packages/bundles/src
COPY packages/dialects/src packages/dialects/src
COPY packages/doctor/src packages/doctor/src
COPY packages/mcp/src packages/mcp/src
COPY migrations migrations
RUN .venv/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

FROM build AS installed
COPY --from=wheel /wheels /wheels
RUN .venv/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /opt/pagefault pagefault \
 && install -d -o pagefault -g pagefault -m 0700 /var/lib/pagefault
COPY --from=installed /opt/pagefault/.venv /opt/pagefault/.venv
USER pagefault
WORKDIR /opt/pagefault
# A container is reached from outside, so it listens on all addresses, and only with API keys.
ENV PATH=/opt/pagefault/.venv/bin:$PATH \
    PAGEFAULT_HOST=0.0.0.0 \
    PAGEFAULT_PORT=8000 \
    PAGEFAULT_AUTH=api-key \
    PAGEFAULT_DATA_DIR=/var/lib/pagefault
VOLUME /var/lib/pagefault
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD \
  ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["pagefault"]
CMD ["serve"]
