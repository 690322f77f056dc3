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
        [$status, $text] = $this->send('GET', $path, [...$this->headers(), "Accept: $mediaType"]);
        return $status < 300 ? $text : self::data($status, $text);
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

    /** @return array{int, string} Status and body. */
    private function send(string $method, string $path, array $headers, string $body = ''): array
    {
        if (!str_starts_with($path, '/') || preg_grep('/[\r\n]/', $headers)) {
            throw new InvalidArgumentException('a path begins with a slash, and a header is one line');
        }
        $http = ['method' => $method, 'header' => $headers, 'content' => $body, 'timeout' => $this->timeoutS];
        $http += ['ignore_errors' => true, 'follow_location' => 0, 'protocol_version' => 1.1];
        $text = @file_get_contents($this->baseUrl . $path, false, stream_context_create(['http' => $http]));
        if ($text === false) {
            throw new RuntimeException("no answer from $this->baseUrl: " . (error_get_last()['message'] ?? ''));
        }
        foreach ($http_response_header as $line) {
            if (stripos($line, 'content-length:') === 0 && strlen($text) < (int) substr($line, 15)) {
                throw new RuntimeException("the answer from $this->baseUrl was cut off");
            }
        }
        return [(int) explode(' ', $http_response_header[0])[1], $text];
    }

    private static function data(int $status, string $text): mixed
    {
        $said = json_decode($text, true);
        if ($status < 300) {
            if ($text !== '' && !is_array($said)) {
                throw new RuntimeException('the answer is not JSON');
            }
            return $said['data'] ?? null;
        }
        throw new TidegateError(
            $status,
            $said['errorType'] ?? '',
            $said['message'] ?? "status $status",
            $said['errors'] ?? [],
            $said['data'] ?? null,
            $said['requestId'] ?? '',
        );
    }

    private static function given(string $name): string
    {
        return getenv($name) ?: throw new InvalidArgumentException("set $name, or give its value to the constructor");
    }
}
