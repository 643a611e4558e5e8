package subjects

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpace_Checkpoints(t *testing.T) {
	s := Space{StreamPrefix: "A_"}
	key, subject, err := s.CheckpointKey("a/b")
	if err != nil {
		t.Fatal(err)
	}
	lease, leaseSubject := s.LeaseKey("auditor==acme")
	got := []string{s.CheckpointBucket(), s.CheckpointStream(), s.AllCheckpoints(), key, subject, lease, leaseSubject}
	want := []string{
		"A_CHECKPOINTS", "KV_A_CHECKPOINTS", "$KV.A_CHECKPOINTS.>", "a=2Fb", "$KV.A_CHECKPOINTS.a=2Fb",
		"lease.auditor==acme", "$KV.A_CHECKPOINTS.lease.auditor==acme",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// The key of a tenant never equals the key of a lease.
func TestSpace_CheckpointKeysAreNoLeases(t *testing.T) {
	for _, tenant := range append(awkward, "lease.auditor", "lease") {
		key, _, err := Space{}.CheckpointKey(tenant)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(key, ".") {
			t.Errorf("tenant %q has the key %s", tenant, key)
		}
	}
	if _, _, err := (Space{}).CheckpointKey(strings.Repeat("x", MaxID+1)); err == nil {
		t.Error("a tenant that is too long has a key")
	}
}

func TestStandby(t *testing.T) {
	for durable, want := range map[string]string{"auditor": "auditor-standby", "auditor==acme": "auditor-standby==acme"} {
		if got := Standby(durable); got != want {
			t.Errorf("%s: got %s, want %s", durable, got, want)
		}
		_, tenant, _ := strings.Cut(durable, "==")
		if got, err := (Space{}).Durable("auditor-standby", tenant); err != nil || got != want {
			t.Errorf("%s: consumers have %s, %v, want %s", durable, got, err, want)
		}
	}
}
