<?php
/**
 * Webhook receiver for PHP: verify the signature, respond at once, process each event once.
 *
 * Copy `verify_webhook` unchanged. Pass it the raw request body: JSON that was parsed and serialized again has different
 * bytes. The rest of the file is an example server: PARLEY_WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:8000 verify.php
 */

declare(strict_types=1);

/**
 * Returns whether $body was signed with $secret within the last five minutes. During a rotation of the secret the header
 * has several signatures, and one must match.
 */
function verify_webhook(string $secret, ?string $header, string $body, ?int $now = null): bool
{
    $signatures = explode(',', $header ?? '');
    if ($secret === '' || preg_match('/^t=([0-9]{1,12})\z/', array_shift($signatures), $found) !== 1) {
        return false;
    }
    $t = $found[1];
    if (abs(($now ?? time()) - (int) $t) > 300) {
        return false;
    }
    $expected = 'v1=' . hash_hmac('sha256', $t . '.' . $body, $secret);
    foreach ($signatures as $signature) {
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}

/** Replace this with your code. The event is already acknowledged, so retrying a failure is up to you. */
function handle(array $event): void
{
    error_log($event['id'] . ' ' . $event['event'] . ' ' . json_encode($event['data']));
}

/**
 * Returns whether this is the first delivery of the event. In production, insert the event into a table with its id as
 * primary key before you respond.
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

// When another file includes this one, it only defines the functions.
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
