package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func scrubbed(t *testing.T, s *policy.Scrubber, out hooks.ToolOutcome) hooks.ToolOutcome {
	t.Helper()
	got, err := s.PostToolUse(t.Context(), hooks.Meta{}, hooks.ToolDone{}, out)
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		return out
	}
	return *got
}

func TestPIIScrubber(t *testing.T) {
	tests := []struct {
		name             string
		out              hooks.ToolOutcome
		compat, stricter hooks.ToolOutcome
	}{
		{
			"Text",
			hooks.ToolOutcome{Result: `"contact brady@example.com, or a.b+c@x.co.uk"`},
			hooks.ToolOutcome{Result: `"contact [EMAIL_REDACTED], or [EMAIL_REDACTED]"`},
			hooks.ToolOutcome{Result: `"contact [EMAIL_REDACTED], or [EMAIL_REDACTED]"`},
		},
		{
			"Deep, with what is not text left alone",
			hooks.ToolOutcome{Result: `{"a@b.io": [ 1.50, {"x":"\u0061@b.io <&>"}, 12345678901234567890 ], "y" : null}`},
			hooks.ToolOutcome{Result: `{"a@b.io": [ 1.50, {"x":"[EMAIL_REDACTED] <&>"}, 12345678901234567890 ], "y" : null}`},
			hooks.ToolOutcome{Result: `{"a@b.io": [ 1.50, {"x":"[EMAIL_REDACTED] <&>"}, 12345678901234567890 ], "y" : null}`},
		},
		{
			"Error and context",
			hooks.ToolOutcome{Error: "no a@b.io", Stack: "at a@b.io", Context: "a@b.io"},
			hooks.ToolOutcome{Error: "no a@b.io", Stack: "at a@b.io", Context: "a@b.io"},
			hooks.ToolOutcome{Error: "no [EMAIL_REDACTED]", Stack: "at [EMAIL_REDACTED]", Context: "[EMAIL_REDACTED]"},
		},
		{
			"Card",
			hooks.ToolOutcome{Result: `"4111 1111 1111 1111"`},
			hooks.ToolOutcome{Result: `"4111 1111 1111 1111"`},
			hooks.ToolOutcome{Result: `"[CARD_REDACTED]"`},
		},
		{"Nothing", hooks.ToolOutcome{Status: events.ToolSuccess}, hooks.ToolOutcome{Status: events.ToolSuccess}, hooks.ToolOutcome{Status: events.ToolSuccess}},
	}
	inCompat, inStrict := must(policy.NewPIIScrubber(compat))(t), must(policy.NewPIIScrubber(strict))(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.compat, scrubbed(t, inCompat, tt.out)); diff != "" {
				t.Errorf("compat (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.stricter, scrubbed(t, inStrict, tt.out)); diff != "" {
				t.Errorf("strict (-want +got):\n%s", diff)
			}
		})
	}
	out := hooks.ToolOutcome{Result: "not json a@b.io"}
	if got := scrubbed(t, inCompat, out); got != out {
		t.Errorf("compat changed what is no JSON: %+v", got)
	}
	if got, err := inStrict.PostToolUse(t.Context(), hooks.Meta{}, hooks.ToolDone{}, out); err == nil {
		t.Errorf("strict let through what it cannot read: %+v", got)
	}
}

func TestSecretScrubber(t *testing.T) {
	s := must(policy.NewSecretScrubber(strict))(t)
	secret := "ghp_" + "0f9Qz7XbK2mVtR4sYcW8pLd3NhJ6gA1eUiTo"
	got := scrubbed(t, s, hooks.ToolOutcome{
		Result: hooks.JSON(`{"out":"export TOKEN=` + secret + ` a@b.io"}`), Error: "token " + secret,
	})
	want := hooks.ToolOutcome{Result: `{"out":"export TOKEN=[SECRET_REDACTED] a@b.io"}`, Error: "token [SECRET_REDACTED]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

func FuzzPIIScrubber(f *testing.F) {
	f.Add(`{"a":"b@c.de"}`)
	f.Add(`["\u0061@b.cd","\"x@y.zz"]`)
	f.Fuzz(func(t *testing.T, result string) {
		j := hooks.JSON(result)
		s := must(policy.NewPIIScrubber(compat))(t)
		got := scrubbed(t, s, hooks.ToolOutcome{Result: j}).Result
		if j.Valid() != got.Valid() {
			t.Fatalf("%s became %s", j, got)
		}
		if again := scrubbed(t, s, hooks.ToolOutcome{Result: got}).Result; again != got {
			t.Fatalf("%s became %s", got, again)
		}
	})
}
