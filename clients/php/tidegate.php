<?php
// The Tidegate API from PHP 8.1 or newer: keys, JSON, errors. One file, no package; https needs the extension openssl.
// It sends each request once: to repeat one safely, give it an idempotencyKey.

declare(strict_types=1);

final class TidegateError extends RuntimeException
{
    /** @param array<array{field: string, message: string}> $errors */
    public function __construct(
        public readonly int $status,
        public readonly string $errorType,
        string $message,
        public readonly array $errors = [],
        public readonly mixed $data = null,
        public readonly string $requestId = '',
        /** Seconds to wait before it is sent again. */
        public readonly ?int $retryAfter = null,
    ) {
        parent::__construct($message);
    }
}

final class Tidegate
{
    public readonly string $businessId;
    private readonly string $secretKey;
    private readonly string $publicKey;
    private readonly string $baseUrl;

    /** What is not given is read from the environment: TIDEGATE_SECRET_KEY, _PUBLIC_KEY, _BUSINESS_ID, _URL. */
    public function __construct(
        #[\SensitiveParameter] ?string $secretKey = null,
        ?string $publicKey = null,
        ?string $businessId = null,
        ?string $baseUrl = null,
        private readonly float $timeoutS = 30.0,
    ) {
        $this->secretKey = trim($secretKey ?? self::given('TIDEGATE_SECRET_KEY'));
        $this->publicKey = trim($publicKey ?? (getenv('TIDEGATE_PUBLIC_KEY') ?: ''));
        $this->businessId = trim($businessId ?? (getenv('TIDEGATE_BUSINESS_ID') ?: ''));
        $this->baseUrl = rtrim(trim($baseUrl ?? self::given('TIDEGATE_URL')), '/');
        if ($this->secretKey === '') {
            throw new InvalidArgumentException('the secret key is empty');
        }
        if (str_starts_with($this->secretKey, 'sk_live_') && !str_starts_with($this->baseUrl, 'https://')) {
            throw new InvalidArgumentException('a live key is sent over https only');
        }
    }

    /** Without the keys, wherever it is shown. */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->baseUrl, 'businessId' => $this->businessId];
    }

    public function get(string $path, array $query = []): mixed
    {
        return $this->call('GET', $query ? "$path?" . http_build_query($query) : $path);
    }

    public function post(string $path, ?array $body = null, ?string $idempotencyKey = null): mixed
    {
        return $this->call('POST', $path, $body, $idempotencyKey);
    }

    public function patch(string $path, array $body): mixed
    {
        return $this->call('PATCH', $path, $body);
    }

    public function delete(string $path): mixed
    {
        return $this->call('DELETE', $path);
    }

    /** The bytes of an answer that is also offered as text/csv or application/pdf. */
    public function file(string $path, string $mediaType): string
    {
        [$head, $text] = $this->send('GET', $path, [...$this->headers(), "Accept: $mediaType"]);
        return self::status($head) < 300 ? $text : self::data($head, $text);
    }

    private function call(string $method, string $path, ?array $body = null, ?string $idempotencyKey = null): mixed
    {
        $headers = [...$this->headers(), 'Accept: application/json'];
        if ($body !== null) {
            $headers[] = 'Content-Type: application/json';
        }
        if ($idempotencyKey !== null) {
            $headers[] = "Idempotency-Key: $idempotencyKey";
        }
        // An empty array is an object here.
        $json = $body === null ? '' : json_encode($body ?: new stdClass(), JSON_THROW_ON_ERROR);
        return self::data(...$this->send($method, $path, $headers, $json));
    }

    /** @return list<string> */
    private function headers(): array
    {
        $given = ['api-key' => $this->secretKey, 'x-pub-key' => $this->publicKey, 'x-business-id' => $this->businessId];
        return array_map(fn ($name, $value) => "$name: $value", array_keys(array_filter($given)), array_filter($given));
    }

    /** @return array{list<string>, string} The lines of the head, and the body. */
    private function send(string $method, string $path, array $headers, string $body = ''): array
    {
        if (!str_starts_with($path, '/') || preg_grep('/[\r\n]/', $headers)) {
            throw new InvalidArgumentException('a path begins with a slash, and a header is one line');
        }
        $http = ['method' => $method, 'header' => $headers, 'content' => $body, 'timeout' => $this->timeoutS];
        $http += ['ignore_errors' => true, 'follow_location' => 0, 'protocol_version' => 1.1];
        $deadline = microtime(true) + $this->timeoutS;
        $stream = @fopen($this->baseUrl . $path, 'r', false, stream_context_create(['http' => $http]));
        if ($stream === false) {
            throw new RuntimeException("no answer from $this->baseUrl: " . (error_get_last()['message'] ?? ''));
        }
        $text = $this->body($stream, $deadline);
        $length = self::header($http_response_header, 'content-length');
        if ($length !== null && strlen($text) < (int) $length) {
            throw new RuntimeException("the answer from $this->baseUrl was cut off");
        }
        return [$http_response_header, $text];
    }

    /** PHP limits each read: an answer of many small parts would last as long as they come. */
    private function body($stream, float $deadline): string
    {
        $text = '';
        while (!feof($stream)) {
            $leftS = $deadline - microtime(true);
            if ($leftS > 0) {
                stream_set_timeout($stream, (int) $leftS, (int) (fmod($leftS, 1) * 1e6) + 1);
                $text .= fread($stream, 65536);
            }
            if ($leftS <= 0 || stream_get_meta_data($stream)['timed_out']) {
                throw new RuntimeException("no whole answer from $this->baseUrl in $this->timeoutS s");
            }
        }
        return $text;
    }

    /** @param list<string> $head */
    private static function status(array $head): int
    {
        return (int) explode(' ', $head[0])[1];
    }

    /** @param list<string> $head */
    private static function header(array $head, string $name): ?string
    {
        foreach ($head as $line) {
            if (stripos($line, "$name:") === 0) {
                return trim(substr($line, strlen($name) + 1));
            }
        }
        return null;
    }

    /** Whole seconds from now, whether they are said as such or as a date. */
    private static function retryAfter(array $head): ?int
    {
        $said = self::header($head, 'retry-after') ?? '';
        if (preg_match('/^[0-9]{1,9}$/D', $said)) {
            return (int) $said;
        }
        $at = str_ends_with($said, ' GMT') ? strtotime($said) : false;
        // By the clock that the date is of, where the answer shows it.
        $now = strtotime(self::header($head, 'date') ?? '') ?: time();
        return $at === false ? null : max(0, $at - $now);
    }

    /** @param list<string> $head */
    private static function data(array $head, string $text): mixed
    {
        $status = self::status($head);
        $said = json_decode($text, true);
        if ($status < 300) {
            if ($text !== '' && !is_array($said)) {
                throw new RuntimeException('the answer is not JSON');
            }
            return $said['data'] ?? null;
        }
        $location = self::header($head, 'location');
        $moved = $location === null ? '' : " and names another address, $location: TIDEGATE_URL is wrong";
        throw new TidegateError(
            $status,
            $said['errorType'] ?? '',
            $said['message'] ?? "the server answered $status$moved",
            $said['errors'] ?? [],
            $said['data'] ?? null,
            $said['requestId'] ?? '',
            self::retryAfter($head),
        );
    }

    private static function given(string $name): string
    {
        return getenv($name) ?: throw new InvalidArgumentException("set $name, or give its value to the constructor");
    }
}
