"""What people usually build: the create endpoint in FastAPI, pydantic and SQLAlchemy, for one line of the benchmark.

Written as the manuals of the three recommend, and as fairly as we could: a pooled engine, compiled statements cached,
the fast loop and parser, one process as ours. It does less than ours: no rate limit, no idempotency keys, no fees of a
business's own, no search for card numbers.

    DATABASE_URL=postgresql://… PORT=8081 python -m bench.customary
"""
