// Package pythontest measures the start-up time of a hook written as a python3 script.
package pythontest

import (
	"os/exec"
	"testing"
	"time"
)

// Find returns the path of the python3 interpreter behind wrapper scripts such as
// pyenv's. It skips tb if there is no python3.
func Find(tb testing.TB) string {
	tb.Helper()
	python, err := exec.CommandContext(tb.Context(), "python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil || len(python) == 0 {
		tb.Skipf("python3 is not available: %v", err)
	}
	return string(python)
}

// Spawn runs python -c pass and returns the elapsed time.
func Spawn(tb testing.TB, python string) time.Duration {
	tb.Helper()
	began := time.Now()
	if err := exec.CommandContext(tb.Context(), python, "-c", "pass").Run(); err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}
