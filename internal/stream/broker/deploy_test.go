package broker

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
)

// TestDeployedServer compares the server of docker-compose.yml with the embedded one.
func TestDeployedServer(t *testing.T) {
	got, err := server.ProcessConfigFile(filepath.Join("..", "..", "..", "deploy", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	embedded := serverOptions(t.TempDir(), "", nil)
	type settings struct {
		JetStream, SyncAlways, Store bool
		MaxPayload                   int32
		Inflight                     int
	}
	of := func(o *server.Options) settings {
		return settings{
			o.JetStream, o.SyncAlways, o.JetStreamMaxStore >= DefaultStreamBytes+otherStreams,
			o.MaxPayload, o.JetStreamLimits.MaxBatchInflightPerStream,
		}
	}
	embedded.JetStreamMaxStore = DefaultStreamBytes + otherStreams // measured at start
	if diff := cmp.Diff(of(embedded), of(got)); diff != "" {
		t.Errorf("deploy/nats.conf (-embedded +deployed):\n%s", diff)
	}
}
