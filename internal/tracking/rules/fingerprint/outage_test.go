package fingerprint_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"
)

func TestInfrastructure(t *testing.T) {
	for _, tt := range []struct{ class, text, want string }{
		// One outage, many wordings.
		{"", "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", fingerprint.Unavailable},
		{"", "Overloaded", fingerprint.Unavailable},
		{"", "server returned HTTP 529 after 4 retries", fingerprint.Unavailable},
		{"", "Error code: 529 - overloaded", fingerprint.Unavailable},
		{"", "The model is currently overloaded. Please try again later.", fingerprint.Unavailable},
		{"APIStatusError", "Anthropic is overloaded", fingerprint.Unavailable},
		{"overloaded", "whatever", fingerprint.Unavailable},
		{"ProviderOverloaded", "upstream said 0", fingerprint.Unavailable},
		{"", "<html>\r\n<head><title>502 Bad Gateway</title></head><body>nginx</body></html>", fingerprint.Unavailable},
		{"", "503 Service Unavailable", fingerprint.Unavailable},
		{"", "upstream connect error or disconnect/reset before headers", fingerprint.Unavailable},
		{"", "request to https://api.anthropic.com/v1/messages failed: read ECONNRESET", fingerprint.Unavailable},
		{"Error", "getaddrinfo ENOTFOUND api.openai.com", fingerprint.Unavailable},
		{"TimeoutError", "POST https://generativelanguage.googleapis.com/v1beta timed out", fingerprint.Unavailable},
		{"", "litellm.exceptions.ServiceUnavailableError: x", fingerprint.Unavailable},
		// Limits and logins.
		{"", "Claude usage limit reached. Your limit will reset at 3pm.", fingerprint.Limited},
		{"", "Your credit balance is too low to access the Anthropic API.", fingerprint.Limited},
		{"", "429 RESOURCE_EXHAUSTED. You exceeded your current quota", fingerprint.Limited},
		{"", "Rate limit reached for gpt-5 in organization org-x on tokens per min", fingerprint.Limited},
		{"RateLimitError", "slow down", fingerprint.Limited},
		{"", "OAuth token has expired. Please run /login", fingerprint.Login},
		{"", "API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}", fingerprint.Login},
		{"disk_full", "no space left", fingerprint.DiskFull},
		// The work.
		{"TimeoutError", "waiting for selector #login failed", ""},
		{"OSError", "[Errno 2] No such file or directory: 'a'", ""},
		{"HTTPError", "503 Service Unavailable for url: https://shop.example.com/health", ""},
		{"HTTPError", "502 Bad Gateway", ""},
		{"CalledProcessError", "Command 'make' returned non-zero exit status 2", ""},
		{"ZodError", "expected string", ""},
		{"ENOENT", "no such file", ""},
		{"OperationalError", "database is locked", ""},
		{"quality_gate", "coverage 61 %", ""},
		{"guardrail_violation", "blocked", ""},
		{"deploy_failed", "503 Service Unavailable", ""},
		{"", "expected 200, got 503", ""},
		{"", "test_retry: expected RESOURCE_EXHAUSTED, got OK", ""},
		{"", "connection refused: localhost:5432", ""},
		{"", "503 Service Unavailable: http://localhost:8080/health", ""},
		{"AssertionError", "API Error: 529 overloaded_error", ""},
		{"", "fix the rate limit of the API", ""},
		{"", "", ""},
	} {
		if got := fingerprint.Infrastructure(tt.class, tt.text, nil, nil); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.class, tt.text, got, tt.want)
		}
	}
	if got := fingerprint.Infrastructure("RunnerLost", "x", []string{"runner lost"}, nil); got != "runner_lost" {
		t.Errorf("a class of the user: %q", got)
	}
	if got := fingerprint.Infrastructure("rate_limit", "x", nil, []string{"rate_limit"}); got != "" {
		t.Errorf("an ordinary class: %q", got)
	}
}

func TestIdentity(t *testing.T) {
	same := func(class string, texts ...string) {
		for _, text := range texts[1:] {
			if a, b := fingerprint.Identity(class, texts[0]), fingerprint.Identity(class, text); a != b {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
	same("OutputParserException", "Could not parse: Sure! Here is", "Could not parse: I think that")
	same("JSONDecodeError", "Expecting value: line 1", "Extra data: line 3")
	same("ZodError", "Required", "Invalid type")
	same("timeout", "Request timed out", "upstream did not answer")
	same("", "FAILED tests/test_login.py::test_expired_token - AssertionError", "1 failed: test_expired_token",
		"the test test_expired_token is red again", "AssertionError in test_expired_token: 401 != 200")
	if a, b := fingerprint.Identity("OSError", "x"), fingerprint.Identity("ValueError", "x"); a == b {
		t.Error("two classes are the same")
	}
	if a, b := fingerprint.Identity("", "x"), fingerprint.Identity("Error", "x"); a != b {
		t.Error("a vague class counts")
	}
}

func TestByPerson(t *testing.T) {
	for text, want := range map[string]bool{
		"[Request interrupted by user]":              true,
		"[Request interrupted by user for tool use]": true,
		"Interrupted by user":                        true,
		"Aborted by user":                            true,
		"The user doesn't want to proceed with this tool use. The tool use was rejected": true,
		"User cancelled the operation":             true,
		"operation was canceled by the user":       true,
		"KeyboardInterrupt":                        true,
		"the user table is gone":                   false,
		"the request was denied by policy":         false,
		"test: 'interrupted by user' is not shown": false,
		"": false,
	} {
		if got := fingerprint.ByPerson("", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !fingerprint.ByPerson("KeyboardInterrupt", "") || fingerprint.ByPerson("UserError", "x") {
		t.Error("classes")
	}
}
