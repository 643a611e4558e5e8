package hook

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/command/capture"
	"github.com/hooktrail/hooktrail/internal/platform/flagenv"
)

func none(string) string { return "" }

func TestParse(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/x")
	plain := line{tool: "codex", dataDir: "/x/hooktrail", tenant: "default", timeout: 5 * time.Second}
	with := func(change func(l *line)) *line {
		l := plain
		change(&l)
		return &l
	}
	for _, tt := range []struct {
		args, variable string
		want           *line
	}{
		{"codex", "", &plain},
		{"codex --data-dir /d --tenant acme --timeout 2s --fail-closed", "", with(func(l *line) { l.dataDir, l.tenant, l.timeout = "/d", "acme", 2*time.Second })},
		{"copilot-cli preToolUse", "", with(func(l *line) { l.tool, l.event = "copilot-cli", "preToolUse" })},
		{"codex --publisher unix:///p", "", with(func(l *line) { l.publisher, l.tenant = "unix:///p", "" })},
		{"codex", "HOOKTRAIL_TENANT=acme", with(func(l *line) { l.tenant = "acme" })},
		{"codex --tenant b", "HOOKTRAIL_TENANT=acme", with(func(l *line) { l.tenant = "b" })},
		{"codex", "HOOKTRAIL_HOOKS=h.yaml", with(func(l *line) { l.hooks = "h.yaml" })},
		{"codex", "HOOKTRAIL_TIMEOUT=1ns", &plain},
		{"codex", "HOOKTRAIL_TIMEOUT=9s", with(func(l *line) { l.timeout = 9 * time.Second })},
		{"codex --timeout 1s", "HOOKTRAIL_TIMEOUT=9s", with(func(l *line) { l.timeout = time.Second })},
		{"codex", "HOOKTRAIL_PUBLISHER=unix:///p", with(func(l *line) { l.publisher, l.tenant, l.isSteered = "unix:///p", "", true })},
		{"codex --publisher unix:///p", "HOOKTRAIL_PUBLISHER=unix:///q", with(func(l *line) { l.publisher, l.tenant = "unix:///p", "" })},
		{"codex --no-redact", "", nil},
		{"codex", "HOOKTRAIL_NO_REDACT=1", nil},
		{"codex", "HOOKTRAIL_FAIL_CLOSED=maybe", nil},
		{"codex --timeout soon", "", nil},
		{"codex --timeout -1s", "", nil},
		{"codex --tenant=a", "", nil},
		{"codex --json", "", nil},
		{"codex -v", "", nil},
		{"--help", "", nil},
		{"--version", "", nil},
		{"a b c", "", nil},
		{"", "", nil},
		{"codex --tenant", "", nil},
		{"codex --tenant a --tenant b", "", nil},
	} {
		name, value, _ := strings.Cut(tt.variable, "=")
		got, ok := parse(strings.Fields(tt.args), func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		if !ok {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.args, tt.variable, diff)
		}
	}
}

// If parse accepts a command line, hooktrail-capture reads the same values in it.
func FuzzParse(f *testing.F) {
	for _, args := range []string{"codex", "codex --tenant a --fail-closed", "a b --data-dir /d --timeout 1m", "codex -- --tenant x", "codex --publisher unix:///p --hooks h"} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, " ")
		got, ok := parse(args, none)
		if !ok {
			return
		}
		var want capture.Flags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		dir, tenant := flags.String("data-dir", flagenv.DefaultDataDir(), ""), flags.String("tenant", "", "")
		want.Register(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		names := append(flags.Args(), "", "")
		if *tenant == "" && want.Publisher == "" {
			*tenant = "default"
		}
		if names[0] != got.tool || names[1] != got.event || *dir != got.dataDir || *tenant != got.tenant ||
			want.Hooks != got.hooks || want.Publisher != got.publisher || want.Timeout != got.timeout || want.NoRedact {
			t.Errorf("%q: got %+v, want %v %q %q %+v", args, got, names, *dir, *tenant, want)
		}
	})
}
