// Package pythontest finds python3 for tests and measures its start-up time.
package pythontest

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// Find returns the real python3 behind wrapper scripts, or skips the test.
func Find(tb testing.TB) string {
	tb.Helper()
	python, err := locate(tb, "python3", "sys")
	if err != nil || python == "" {
		tb.Skipf("python3 is not available: %v", err)
	}
	return python
}

// FindWith returns a python3 interpreter that can import a module, or "". If HOOKTRAIL_TEST_REQUIRE
// is 1, a missing module fails the test.
func FindWith(tb testing.TB, module string) string {
	tb.Helper()
	for _, candidate := range [...]string{"/usr/bin/python3", "python3"} {
		if python, err := locate(tb, candidate, module); err == nil && python != "" {
			return python
		}
	}
	say := tb.Logf
	if os.Getenv("HOOKTRAIL_TEST_REQUIRE") == "1" {
		say = tb.Fatalf
	}
	say("no python3 has the module %s: install Debian's python3-%s", module, module)
	return ""
}

func locate(tb testing.TB, python, module string) (string, error) {
	tb.Helper()
	path, err := exec.CommandContext(tb.Context(), python, "-c", "import sys, "+module+"; print(sys.executable, end='')").Output()
	return string(path), err
}

// Spawn runs python -c pass and returns the duration.
func Spawn(tb testing.TB, python string) time.Duration {
	tb.Helper()
	began := time.Now()
	if err := exec.CommandContext(tb.Context(), python, "-c", "pass").Run(); err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}
