package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/configfile"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// failuresOf counts the failure issues of four runs that fail with the same class.
func failuresOf(t *testing.T, class string, c rules.Config) int {
	t.Helper()
	var list []events.Event
	for n := range 4 {
		e := stepAt(t, n, time.Duration(n)*40*time.Second, events.StepFailed, distinctly(n), nil)
		d := events.StepFinishedData{
			StepStatus: events.StepFailed, AgentRole: fmt.Sprintf("ROLE %c", 'A'+n%3),
			Error: &events.Failure{Message: distinctly(n), Class: class},
		}
		if err := e.SetData(d); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	s := new(rules.State)
	applyWith(t, c, s, list...)
	if _, err := s.Release(c); err != nil {
		t.Fatal(err)
	}
	return kinds(s.Issues())[rules.Failure]
}

func TestClass_Infrastructure(t *testing.T) {
	for _, class := range []string{
		"provider", "provider_outage", "infra", "infrastructure", "rate_limit", "RateLimitError", "overloaded_error", "llm_down",
		"503", "http_503", "5xx", "APIConnectionError", "api_error", "server_error", "service_not_available", "billing", "api_key_expired",
		"disk_full", "quota", "bedrock", "unknown_provider_trouble", "runner_lost",
	} {
		if got := failuresOf(t, class, rules.DefaultConfig()); got != 1 {
			t.Errorf("%s: got %d issues, want 1", class, got)
		}
	}
}

// The error texts of provider APIs are outages even without a class.
func TestClass_ToldByTheText(t *testing.T) {
	for text, want := range map[string]int{
		"API Error: 503 Service Unavailable from the provider (%s)":                                      1,
		`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"%s"}}`:             1,
		"API Error: Connection error. %s":                                                                1,
		"[API Error: Rate limit reached, %s]":                                                            1,
		`{"type":"error","error":{"type":"rate_limit_error","message":"%s"}}`:                            1,
		`529 {"type": "error", "error": {"details": null, "type": "overloaded_error", "message": "%s"}}`: 1,
		`Error code: 429 - {'type': 'error', 'error': {'type': 'rate_limit_error', 'message': '%s'}}`:    1,
		`TestRetry: got {"type":"error","error":{"type":"overloaded_error"}}, want %s`:                   1,
		"litellm.exceptions.RateLimitError: %s":                                                          1,
		"openai.APIConnectionError: %s":                                                                  1,
		`API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"%s"}}`:        4,
		"expected 200, got 503: %s":                                                                      4,
		"TestUpload fails with API Error: 503, %s":                                                       1,
		"openai.BadRequestError: %s":                                                                     4,
		"InternalServerError: %s":                                                                        4,
	} {
		s := new(rules.State)
		for n := range 4 {
			apply(t, s, stepAt(t, n, time.Duration(n)*40*time.Second, events.StepFailed, fmt.Sprintf(text, distinctly(n)), nil))
		}
		release(t, s)
		if got := kinds(s.Issues())[rules.Failure]; got != want {
			t.Errorf("%s: got %d issues, want %d", text, got, want)
		}
	}
}

func TestClass_Ids(t *testing.T) {
	for class, want := range map[string]int{"provider_8f3a2b%dc": 1, "overloaded: req 10000%d": 1, "http_50%d": 2} {
		s := new(rules.State)
		for n := range 4 {
			at := time.Duration(n) * 40 * time.Second
			apply(t, s, stepAt(t, n, at, events.StepFailed, "boom", map[string]any{"error_class": fmt.Sprintf(class, n)}))
		}
		release(t, s)
		if got := kinds(s.Issues())[rules.Failure]; got != want {
			t.Errorf("%s: got %d issues, want %d", class, got, want)
		}
	}
}

func TestClass_Ordinary(t *testing.T) {
	for _, class := range []string{
		"", " ", "error", "Exception", "_OTHER", "unknown_error", "TestFailure", "tests_failed", "lint", "compile_error", "BuildError",
		"SyntaxError", "TypeError", "merge_conflict", "ValidationError", "AssertionError", "changes_requested_in_review",
		"policy_violation", "denied", "permission_denied", "LogicError",
		"KeyError", "ValueError", "builtins.IndexError", "FileNotFoundError", "java.lang.NullPointerException", "*errors.errorString",
		"*fmt.wrapError", "*exec.ExitError", "*fs.PathError", "ReferenceError", "ModuleNotFoundError", "NotImplementedError",
		"invalid_request", "404", "context_length", "context_overflow", "max_iterations", "exit_cost", "exit_context", "early_exit", "agent_error",
		"interrupted", "cancelled", "rejected", "blocked_by_hook", "panic", "tool_error",
		"TimeoutError", "OSError", "HTTPError", "CalledProcessError", "ENOENT", "OperationalError", "quality_gate", "guardrail_violation",
		"deploy_failed", "ECONNREFUSED", "UnknownHostException", "java.net.ConnectException", "connection", "upstream", "model_error",
	} {
		if got := failuresOf(t, class, rules.DefaultConfig()); got != 4 {
			t.Errorf("%q: got %d issues, want 4", class, got)
		}
	}
}

// The text of these classes differs each time, so the issue is one for each of the three roles.
func TestClass_WithoutText(t *testing.T) {
	for _, class := range []string{"JSONDecodeError", "parse_error", "OutputParserException", "ZodError", "timeout", "timed_out", "DeadlineExceeded"} {
		if got := failuresOf(t, class, rules.DefaultConfig()); got != 3 {
			t.Errorf("%q: got %d issues, want 3", class, got)
		}
	}
}

func TestClass_ByPerson(t *testing.T) {
	for _, class := range []string{"user_abort", "KeyboardInterrupt", "cancelled_by_user"} {
		if got := failuresOf(t, class, rules.DefaultConfig()); got != 0 {
			t.Errorf("%q: got %d issues, want none", class, got)
		}
	}
}

func TestClass_WordsAreConfigured(t *testing.T) {
	c, err := configfile.Parse([]byte("ordinary: [Flux, disk_full]\ninfrastructure: [disk_gone]\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, class := range []string{"FluxError", "disk_full", "disk_gone", "lint"} {
		got[class] = failuresOf(t, class, c)
	}
	if diff := cmp.Diff(map[string]int{"FluxError": 4, "disk_full": 4, "disk_gone": 1, "lint": 4}, got); diff != "" {
		t.Errorf("issues by class (-want +got):\n%s", diff)
	}
}
