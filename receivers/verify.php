<?php
/**
 * Receive webhooks with PHP: check the signature, answer at once, act once.
 *
 * Copy `verify_webhook` as it is. It wants the body byte for byte as it came:
 * JSON that was parsed and written again has other bytes. The rest is an
 * example: PARLEY_WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:8000 verify.php
 */

declare(strict_types=1);

/** Whether a body was signed with this secret within the last five minutes. */
function verify_webhook(string $secret, ?string $header, string $body, ?int $now = null): bool
{
    $pattern = '/^t=([0-9]{1,12}),v1=([0-9a-f]{64})(?:,|\z)/';
    if ($secret === '' || preg_match($pattern, $header ?? '', $found) !== 1) {
        return false;
    }
    [, $t, $v1] = $found;
    if (abs(($now ?? time()) - (int) $t) > 300) {
        return false;
    }
    return hash_equals(hash_hmac('sha256', $t . '.' . $body, $secret), $v1);
}

/** Yours to write. By now the event is answered for: if this fails, trying again is up to you. */
function handle(array $event): void
{
    error_log($event['id'] . ' ' . $event['event'] . ' ' . json_encode($event['data']));
}

/**
 * Whether an event is here for the first time. Better a table whose key is the id: keep the event there, answer, then
 * work it off.
 */
function is_new(string $id): bool
{
    $dir = sys_get_temp_dir() . '/parley-events';
    if (!is_dir($dir)) {
        @mkdir($dir, 0700);
    }
    $path = $dir . '/' . hash('sha256', $id);
    $file = @fopen($path, 'x');
    if ($file === false && !is_file($path)) {
        throw new RuntimeException("$path cannot be written");
    }
    return $file !== false;
}

// Included by another file, this one only brings its functions.
if (debug_backtrace() !== []) {
    return;
}

$body = (string) file_get_contents('php://input');
if (!verify_webhook((string) getenv('PARLEY_WEBHOOK_SECRET'), $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? null, $body)) {
    http_response_code(401);
    exit;
}
$event = json_decode($body, true);
$is_new = is_new($event['id']);
http_response_code(204);
ignore_user_abort(true);
if (function_exists('fastcgi_finish_request')) {
    fastcgi_finish_request();
} else {
    flush();
}
if ($is_new) {
    handle($event);
}
