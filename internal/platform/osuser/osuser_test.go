package osuser

import (
	"os"
	"strings"
	"testing"
)

func TestCurrent_IgnoresTheEnvironment(t *testing.T) {
	want := Current()
	for _, name := range []string{"USER", "LOGNAME", "USERNAME", "HOME", "HOSTNAME"} {
		t.Setenv(name, "the-boss")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got := Current(); got != want || strings.Contains(got, "the-boss") || !strings.HasSuffix(got, "@"+host) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithNote(t *testing.T) {
	for _, tt := range []struct{ by, current, want string }{
		{"jdoe", "jdoe@laptop", "jdoe"},
		{"CFO", "jdoe@laptop", "CFO (jdoe@laptop)"},
		{"CFO", "", "CFO"},
		{"jdoe", "jdoe", "jdoe"},
	} {
		if got := WithNote(tt.by, tt.current); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
