package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// TestNew_Names also checks absent names.
func TestNew_Names(t *testing.T) {
	tests := []struct {
		name, config string
		want         []string
	}{
		{"Nothing", `{}`, []string{"policy.blockedCommands"}},
		{"NoCommands", `{"blockedCommands":[]}`, nil},
		{"NoLimit", `{"blockedCommands":[],"maxAskUserPerSession":0}`, []string{"policy.maxAskUserPerSession"}},
		{
			"Everything",
			`{"mode":"strict","root":"/repo","undetermined":"deny","allowedWritePaths":["src/**"],"blockedCommands":["sudo"],"maxAskUserPerSession":2,
			  "reviewerLockout":true,"scrubPii":true,"scrubSecrets":true,"presets":["destructive-commands"]}`,
			[]string{
				"policy.allowedWritePaths", "policy.blockedCommands", "policy.maxAskUserPerSession", "policy.reviewerLockout",
				"policy.destructive-commands", "policy.scrubPii", "policy.scrubSecrets",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c policy.Config
			if err := json.Unmarshal([]byte(tt.config), &c); err != nil {
				t.Fatal(err)
			}
			set := must(policy.New(c))(t)
			var got []string
			for _, p := range set.Policies() {
				named, ok := p.(hooks.Named)
				if !ok {
					t.Fatalf("%T has no name", p)
				}
				got = append(got, named.Name())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNew_Errors(t *testing.T) {
	negative := -1
	_, err := policy.New(policy.Config{
		AllowedWritePaths: []string{"["}, BlockedCommands: []string{"a|b"}, MaxAskUserPerSession: &negative, Presets: []string{"x"},
	})
	for _, part := range []string{"allowedWritePaths[0]", "blockedCommands[0]", "maxAskUserPerSession", `preset "x"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want all errors, %s among them", err, part)
		}
	}
	if _, err := policy.New(policy.Config{Mode: "x"}); err == nil {
		t.Error("an unknown mode is taken")
	}
}

func TestSet_Order(t *testing.T) {
	set := must(policy.New(policy.Config{AllowedWritePaths: []string{"src/**"}, Presets: []string{policy.DestructiveCommands}}))(t)
	v, reason := verdictOn(t, set, "rm -rf build && git clean -fd")
	if v != hooks.Deny || !strings.HasPrefix(reason, "Shell command blocked") {
		t.Errorf("got %s %q, want the first policy's denial", v, reason)
	}
	// A question of one policy does not hide the denial of a later one.
	if v, reason := verdictOn(t, set, "$X; git clean -fd"); v != hooks.Deny || !strings.HasPrefix(reason, "Destructive") {
		t.Errorf("got %s %q, want the denial", v, reason)
	}
	if v, _ := verdictOn(t, set, "$X"); v != hooks.Ask {
		t.Errorf("got %s, want ask", v)
	}
}

func TestSet_Register(t *testing.T) {
	r := hooks.NewRegistry(hooks.Options{})
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	limit := 1
	set := must(policy.New(policy.Config{MaxAskUserPerSession: &limit, ScrubPII: true}))(t)
	ids, err := set.Register(r)
	if err != nil || len(ids) != 4 { // commands, questions before and at the end, personal data
		t.Fatalf("%d hooks, %v", len(ids), err)
	}
	meta := hooks.Meta{Session: "s"}
	out := hooks.ToolBefore.Dispatch(t.Context(), r, meta, hooks.ToolCall{ID: "1", Tool: "Bash", Args: `{"command":"git rebase x"}`})
	if out.Verdict != hooks.Deny || out.Reason != commandBlocked("git rebase") || len(out.Executions) != 1 || out.Executions[0].Name != "policy.blockedCommands" {
		t.Errorf("got %s %q by %+v", out.Verdict, out.Reason, out.Executions)
	}
	for i, want := range []events.Verdict{hooks.None, hooks.Deny} {
		if got := hooks.ToolBefore.Dispatch(t.Context(), r, meta, hooks.ToolCall{Tool: "ask_user"}).Verdict; got != want {
			t.Errorf("question %d: got %s, want %s", i, got, want)
		}
	}
	hooks.SessionEnded.Dispatch(t.Context(), r, meta, events.SessionEndedData{})
	if got := hooks.ToolBefore.Dispatch(t.Context(), r, meta, hooks.ToolCall{Tool: "ask_user"}).Verdict; got != hooks.None {
		t.Errorf("the first question of a new session: got %s", got)
	}
	result := hooks.ToolResult.Dispatch(t.Context(), r, meta, hooks.ToolDone{}, hooks.ToolOutcome{Status: events.ToolSuccess, Result: `{"to":"a@example.com"}`})
	if want := hooks.JSON(`{"to":"[EMAIL_REDACTED]"}`); result.Value.Result != want {
		t.Errorf("got %s, want %s", result.Value.Result, want)
	}
}

type broken struct{}

func (broken) PreToolUse(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
	return nil, errors.New("broken")
}

func TestFailClosed(t *testing.T) {
	r := hooks.NewRegistry(hooks.Options{})
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := policy.NewSet(broken{}).Register(r); err != nil {
		t.Fatal(err)
	}
	if got := hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{}, hooks.ToolCall{Tool: "Bash"}).Verdict; got != hooks.Deny {
		t.Errorf("got %s, want deny", got)
	}
	if _, err := policy.NewSet(broken{}).PreToolUse(t.Context(), hooks.Meta{}, hooks.ToolCall{}); err == nil {
		t.Error("a set hides the failure")
	}
}
