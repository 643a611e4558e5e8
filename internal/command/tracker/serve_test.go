package tracker

import (
	"bytes"
	"context"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// A signal ends the service with 0, also while it connects.
func TestServe_StoppedAtStart(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	for args, want := range map[string]int{"": 0, "--drain": 1} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cmd := Command()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		list := []string{"serve", "--data-dir", t.TempDir(), "--nats-url", s.URL()}
		if args != "" {
			list = append(list, args)
		}
		if status := cli.Execute(ctx, cmd, list); status != want {
			t.Errorf("%s: exit status %d, want %d:\n%s", args, status, want, out.String())
		}
	}
}
