package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func complete(t *testing.T, values Values, args ...string) string {
	t.Helper()
	shared := new(Shared)
	root := Group("tool", "A tool", &cobra.Command{
		Use: "show RUN", ValidArgsFunction: shared.Argument(values), RunE: func(*cobra.Command, []string) error { return nil },
	})
	shared.Register(root)
	shared.CompleteFlags(root, map[string]Values{"tenant": func(context.Context) []string { return []string{shared.DataDir} }})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	if status := Execute(t.Context(), root, append([]string{"__complete"}, args...)); status != ExitOK {
		t.Errorf("status %d", status)
	}
	return out.String()
}

func TestCompletion(t *testing.T) {
	t.Setenv("HOOKTRAIL_DATA_DIR", "/env")
	hostile := Words("r1", "r2", "x", "r3;rm", "r4\tdescription", "r5\nr6", "$(r7)", "r8\x1b[2J")
	for _, test := range []struct {
		name, want string
		args       []string
	}{
		{"Prefix", "r1\nr2\n:4\n", []string{"show", "r"}},
		{"Second", ":4\n", []string{"show", "r1", ""}},
		{"Environment", "/env\n:4\n", []string{"show", "--tenant", ""}},
		{"Flag", "/flag\n:4\n", []string{"show", "--data-dir", "/flag", "--tenant", "/"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := complete(t, hostile, test.args...); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A flag with a list completes the value after the last comma.
func TestCompletion_List(t *testing.T) {
	shared, cmd := new(Shared), &cobra.Command{Use: "list"}
	cmd.Flags().StringSlice("state", nil, "")
	shared.CompleteFlags(cmd, map[string]Values{"state": Words("failed", "denied", "finished")})
	cmd.SetContext(t.Context())
	complete, _ := cmd.GetFlagCompletionFunc("state")
	for prefix, want := range map[string][]string{
		"f": {"failed", "finished"}, "failed,": {"failed,failed", "failed,denied", "failed,finished"}, "failed,denied,fi": {"failed,denied,finished"}, "x,y": nil,
	} {
		got, _ := complete(cmd, nil, prefix)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefix, diff)
		}
	}
}

// A description stays on its line, and cannot control the terminal.
func TestCompletion_Described(t *testing.T) {
	shared := new(Shared)
	complete := shared.DescribedArgument(func(context.Context) []Described {
		return []Described{{"i1", "a\ntitle\x1b[2J\tend"}, {"i2;rm", "x"}, {"i3", ""}, {"j", "x"}}
	})
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	got, _ := complete(cmd, nil, "i")
	if diff := cmp.Diff([]string{"i1\ta title\\x1b[2J end", "i3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompletion_Hanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		got := complete(t, func(context.Context) []string { <-end; return nil }, "show", "")
		if strings.TrimSpace(got) != ":4" {
			t.Errorf("got %q", got)
		}
	})
}
