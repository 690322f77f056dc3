import asyncio, json, pytest
from build import order
def head(shop, extra=b"", length=None, path=b"/checkout/payments", method=b"POST"):
    h = method+b" "+path+b" HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\napi-key: "+shop.secret_key.encode()+b"\r\nx-pub-key: "+shop.public_key.encode()+b"\r\n"+extra
    if length is not None: h += b"content-length: %d\r\n" % length
    return h + b"\r\n"
async def talk(base_url, *parts, gap=0.0, wait=1.0, eof=False):
    host, port = base_url[7:].split(":")
    r, w = await asyncio.open_connection(host, int(port))
    out=b""
    try:
        for p in parts:
            w.write(p); await w.drain(); await asyncio.sleep(gap)
        if eof: w.write_eof()
        while True:
            d = await asyncio.wait_for(r.read(65536), wait)
            if not d: out += b"<EOF>"; break
            out += d
    except asyncio.TimeoutError: out += b"<OPEN>"
    except OSError as e: out += repr(e).encode()
    w.close()
    return out
def short(b): 
    import re
    return [x[:60] for x in re.findall(rb"HTTP/1.1 [^\r]+|<EOF>|<OPEN>|\w+Error.*|\"message\":\"[^\"]*", b)]
async def test_probe(shop, base_url, admin):
    async def n(): return await admin.fetchval("select count(*) from payment")
    async def case(name, *parts, **k):
        b=await n(); o=await talk(base_url,*parts,**k); await asyncio.sleep(0.1); print(name, short(o), "rows", await n()-b)
    def body(): return json.dumps(order()).encode()
    b=body(); await case("valid+garbage same chunk", head(shop,length=len(b))+b+b"garbage\r\n\r\n")
    b=body(); await case("valid+garbage later", head(shop,length=len(b))+b, b"garbage\r\n\r\n", gap=0.0005)
    b=body(); await case("pipelined", (head(shop,length=len(b))+b)+(lambda x: head(shop,length=len(x))+x)(body()))
    b=body(); await case("cl small", head(shop,length=len(b)-20)+b)
    b=body(); await case("cl large eof", head(shop,length=len(b)+20)+b, eof=True)
    b=body(); await case("cl+te", head(shop,b"transfer-encoding: chunked\r\n",length=len(b))+b"%x\r\n"%len(b)+b+b"\r\n0\r\n\r\n")
    b=body()
    nokey = b"POST /checkout/payments HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nx-pub-key: "+shop.public_key.encode()+b"\r\n\r\n"
    await case("trailer api-key", nokey+b"%x\r\n"%len(b)+b+b"\r\n0\r\napi-key: "+shop.secret_key.encode()+b"\r\n\r\n")
    await case("413 1MB", head(shop,length=1_000_000)+b"x"*1_000_000)
    await case("413 20MB", head(shop,length=20_000_000), *[b"x"*1_000_000]*20)
    await case("413 chunked", head(shop,b"transfer-encoding: chunked\r\n"), *[b"4000\r\n"+b"x"*0x4000+b"\r\n"]*40)
    await case("401 then drip", nokey, b"1\r\n",b"a",b"\r\n1\r\n", gap=0.2)
    for te in [b"xchunked", b"chunked, identity", b"identity", b"\x0bchunked", b"chunked\r\ntransfer-encoding: identity", b"gzip, chunked", b"Chunked"]:
        b=body(); await case(te, head(shop,b"transfer-encoding: "+te+b"\r\n")+b"%x\r\n"%len(b)+b+b"\r\n0\r\n\r\n", wait=0.5)
    for cl in [b"+5", b"-1", b"0x5", b"5, 5", b"", b"5\r\ncontent-length: 5", b"5\r\ncontent-length: 6",b"99999999999999999999999", b" 5 "]:
        await case(b"CL "+cl, head(shop,b"content-length: "+cl+b"\r\n")+b"12345", wait=0.5)
    for ex in [b"x-a: 1\r\n b\r\n", b"x a: 1\r\n", b"x-a\r\n", b"x-a: \x00\r\n", b"x-a: 1\nx-b: 2\r\n", b"content-length : 3\r\n", b"x-a: a\rb\r\n", b": x\r\n", b"x-a: \xff\r\n"]:
        b=body(); await case(ex, head(shop,ex,length=len(b))+b, wait=0.5)
    for line in [b"FOO / HTTP/1.1", b"PRI * HTTP/2.0", b"GET / HTTP/9.9", b"GET /", b"CONNECT a:1 HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET /\xff HTTP/1.1", b"get / HTTP/1.1", b"GET http://evil/healthz HTTP/1.1", b"GET  /healthz HTTP/1.1", b"GET /healthz HTTP/1.0", b"TRACE /checkout/payments HTTP/1.1", b"GET /checkout/payments%0A HTTP/1.1", b"POST /healthz HTTP/1.1", b"GET healthz HTTP/1.1",b"GET //healthz HTTP/1.1", b"GET ?x HTTP/1.1"]:
        await case(line, line+b"\r\nhost: x\r\n\r\n", wait=0.5)
    b=body(); await case("upgrade", head(shop,b"connection: upgrade\r\nupgrade: websocket\r\n",length=len(b))+b)
    b=body(); await case("upgrade h2c", head(shop,b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: x\r\n",length=len(b))+b)
    b=body(); await case("expect", head(shop,b"expect: 100-continue\r\n",length=len(b)),b, gap=0.1)
    await case("expect 413", head(shop,b"expect: 100-continue\r\n",length=10**6))
    await case("tls", bytes.fromhex("16030100c8010000c40303")+b"x"*100)
    await case("431 big", b"GET / HTTP/1.1\r\nx: "+b"a"*32768+b"\r\n\r\n")
    await case("431 endless", b"GET / HTTP/1.1\r\nx: ", *[b"a"*65536]*20)
    await case("431 many", b"GET / HTTP/1.1\r\n"+b"x: a\r\n"*200+b"\r\n")
    for ch in [b"zz\r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"0x5\r\nhello\r\n", b"5\nhello\n", b"5\r\nhelloXX", b"5;ext=1\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n",b"5\r\nhello\r\n0\r\n\r\n"]:
        await case(b"chunk "+ch, head(shop,b"transfer-encoding: chunked\r\n")+ch, wait=0.5)
