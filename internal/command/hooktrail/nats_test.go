package hooktrail

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func TestNATSInit(t *testing.T) {
	s := natstest.Listen(t, t.TempDir(), natstest.Options{NoStreams: true})
	at := []string{"nats", "init", "--data-dir", t.TempDir(), "--nats-url", s.URL()}
	if status, _, stderr := execute(Command(), append(at, "--replicas", "0")...); status != 2 || !strings.Contains(stderr, "--replicas") {
		t.Errorf("no replicas: status %d, %s", status, stderr)
	}
	if status, _, stderr := execute(Command(), append(at, "--replicas", "3", "--max-bytes", "67108864")...); status != 1 || !strings.Contains(stderr, "replicas") {
		t.Errorf("replicas without a cluster: status %d, %s", status, stderr)
	}
	for range 2 { // the second call changes nothing
		if status, _, stderr := execute(Command(), append(at, "--max-bytes", "67108864")...); status != 0 {
			t.Fatalf("status %d, %s", status, stderr)
		}
	}
	stream, err := s.JetStream(t).Stream(t.Context(), "HOOKTRAIL_EV")
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().Config.MaxBytes; got != 64<<20 {
		t.Errorf("the stream may hold %d bytes", got)
	}
}
