package fingerprint

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Ordinary returns words that mark an error as caused by the work instead of the infrastructure.
func Ordinary() []string {
	return []string{
		// the code under work
		"test", "tests", "lint", "compile", "compiler", "compilation", "build", "syntax", "type", "merge", "conflict",
		"validation", "assertion", "assert", "review", "logic", "parse", "parser", "parsing", "decode", "patch", "git",
		// people and policies
		"policy", "denied", "user", "permission", "rejected", "blocked", "interrupted", "cancelled", "canceled",
		// one run: its limits, requests and tools
		"iterations", "turns", "max_steps", "max_cost", "context_length", "context_window", "prompt",
		"invalid_request", "invalid_argument", "invalid_input", "bad_request", "400", "404", "409", "422",
		"tool", "agent_error", "command", "exit", "exec", "file", "path_error", "panic",
		// exception types
		"value_error", "key_error", "index", "lookup_error", "attribute_error", "import_error", "name_error",
		"module_not_found", "null", "pointer", "reference_error", "runtime_error", "range_error", "recursion",
		"arithmetic", "division", "overflow", "unicode", "illegal", "not_implemented", "error_string", "wrap_error", "join_error",
	}
}

var vague = []string{"error", "errors", "err", "exception", "failure", "failed", "fail", "fatal", "other", "unknown", "none", "generic", "general"}

// Class returns the normalised class of an infrastructure error, or "" for errors of the work and
// vague classes.
func Class(class string, ordinary []string) string {
	words := classWords(class)
	named := slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(vague, w) })
	if !named || slices.ContainsFunc(ordinary, func(o string) bool { return inRow(words, classWords(o)) }) {
		return ""
	}
	for i, w := range words {
		if hexWord.MatchString(w) && strings.ContainsAny(w, "0123456789") || len(w) >= 12 && mixed.MatchString(w) {
			words[i] = "#"
		}
	}
	return strings.Join(words, "_")
}

// ClassInText returns the class in an error message of a model provider's API, or "". Texts such as
// "expected 200, got 503" may be about the work.
func ClassInText(text string) string {
	text = cut(text, 1000)
	for _, form := range providerErrors {
		if m := form.FindStringSubmatch(text); m != nil {
			return "api_error_" + strings.ToLower(m[1])
		}
	}
	return ""
}

var providerErrors = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^\W{0,3}api error\W{1,4}(429|5\d\d)\b`),
	regexp.MustCompile(`(?i)^\W{0,3}api error\W{1,4}(connection error|request timed out|overloaded|rate limit)`),
	regexp.MustCompile(`^(?:openai|anthropic|litellm)(?:\.\w+)*\.(RateLimitError|APIConnectionError|APITimeoutError|Timeout|InternalServerError|ServiceUnavailableError|OverloadedError)\b`),
	regexp.MustCompile(`^(?:Error code: )?(?:\d{3} )?(?:- )?\{["']type["']: ?["']error["'], ?["']error["']: ?\{.{0,200}?["'](overloaded_error|rate_limit_error)["']`),
}

func inRow(words, sequence []string) bool {
	if len(sequence) == 0 {
		return false
	}
	for i := 0; i+len(sequence) <= len(words); i++ {
		if slices.Equal(words[i:i+len(sequence)], sequence) {
			return true
		}
	}
	return false
}

// classWords splits a class into lower-case words. "RateLimited" and "rate_limited" give the same
// words.
func classWords(class string) []string {
	var b strings.Builder
	runes := []rune(cut(class, 100))
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
