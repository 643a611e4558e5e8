package subjects

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := Space{Prefix: rapid.SampledFrom([]string{"", "a.b."}).Draw(t, "prefix")}
		tenant := rapid.StringN(0, 60, MaxID).Draw(t, "tenant")
		subject, err := space.Decisions(tenant)
		if err != nil {
			t.Fatal(err)
		}
		got, err := space.DecisionTenant(subject)
		if err != nil || got != tenant {
			t.Fatalf("got %q, %v, want %q", got, err, tenant)
		}
		if err := CheckRequest(subject); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDecisionTenant(t *testing.T) {
	for _, subject := range []string{"", "hooktrail.decide", "hooktrail.decide.", "hooktrail.decide.a.b", "hooktrail.ev.a", "other.decide.a", "hooktrail.decide.*"} {
		if tenant, err := (Space{}).DecisionTenant(subject); err == nil {
			t.Errorf("%q is a request of tenant %q", subject, tenant)
		}
	}
}

func TestCheckRequest(t *testing.T) {
	for _, subject := range []string{"", ".", "a.", ".a", "a..b", "a.*", "a.>", "a b", "a\n", "$SYS.x", "$JS.API.x", "_INBOX.x"} {
		if CheckRequest(subject) == nil {
			t.Errorf("%q is accepted", subject)
		}
	}
	for _, subject := range []string{"a", "a.b", "team.decide", "_HT.x"} {
		if err := CheckRequest(subject); err != nil {
			t.Errorf("%q: %v", subject, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	const most = 30 * time.Second
	for value, want := range map[string]time.Duration{
		"": most, "x": most, "0": most, "-5": most, "1.5": most, "250": 250 * time.Millisecond,
		"30000": most, "30001": most, "9223372036854775807": most, "99999999999999999999": most,
	} {
		if got := Timeout(map[string][]string{DecisionTimeout: {value}}, most); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	header := map[string][]string{}
	if got := Timeout(header, most); got != most {
		t.Errorf("without a header: got %v", got)
	}
	SetTimeout(header, 1500*time.Millisecond)
	if got := Timeout(header, most); got != 1500*time.Millisecond {
		t.Errorf("got %v", got)
	}
	SetTimeout(header, 10*time.Microsecond)
	if got := Timeout(header, most); got != time.Millisecond {
		t.Errorf("got %v", got)
	}
}

// A client chooses the reply subject, but the service that answers may have more rights.
func TestCheckReply(t *testing.T) {
	for subject, ok := range map[string]bool{
		"_INBOX.x.y": true, "_HTINBOX.auditor.x": true, "_R_.abc.def": true, "mine.answers": true,
		"$JS.API.STREAM.DELETE.HOOKTRAIL_EV": false, "$SYS.REQ": false, "hooktrail.ev.b.p.r.custom": false, "hooktrail.chain.b.p": false,
	} {
		if err := (Space{}).CheckReply(subject); (err == nil) != ok {
			t.Errorf("%s: got %v", subject, err)
		}
	}
	if err := (Space{Prefix: "own."}).CheckReply("own.ev.a"); !errors.Is(err, ErrSubject) {
		t.Errorf("in a space of one's own: got %v", err)
	}
}
