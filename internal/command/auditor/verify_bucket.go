package auditor

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// askLimit limits the wait for a broker, which a verification does not need.
const askLimit = 5 * time.Second

// askBucket adds the checkpoint of the ledger at path from the broker's bucket. The
// broker is the one of --nats-url, or the one that runs in the data directory of the
// ledger. askBucket does not start a broker.
func (v verification) askBucket(ctx context.Context, shared *cli.Shared, opts *verifier.Options, path string) error {
	if !v.bucket || shared.NATSURL == "" && v.file != "" {
		return nil
	}
	tenant := opts.Tenant
	if v.file != "" && shared.Tenant == "" {
		r, err := ledger.OpenReader(path)
		if err != nil {
			return nil // the verification reports it
		}
		tenant = r.Tenant()
		if err := r.Close(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	k, err := askBroker(ctx, shared, tenant)
	if errors.Is(err, broker.ErrNotRunning) {
		return nil
	}
	if err != nil {
		k = verifier.Anchored{From: "bucket " + subjects.Space{}.CheckpointBucket(), Err: err}
	}
	k.WithLedger = shared.NATSURL == ""
	opts.Anchored = append(opts.Anchored, k)
	return nil
}

// askBroker returns the checkpoint of a tenant from the bucket at the broker.
func askBroker(ctx context.Context, shared *cli.Shared, tenant string) (verifier.Anchored, error) {
	nc, err := broker.Dial(ctx, broker.Options{
		DataDir: shared.DataDir, URL: shared.NATSURL, Login: broker.Login(shared.Login), Name: "auditor verify",
		Role: subjects.AuditorRole, Tenant: shared.Tenant,
	})
	if err != nil {
		return verifier.Anchored{}, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return verifier.Anchored{}, err
	}
	bucket := bucket.At(js, subjects.Space{})
	k := verifier.Anchored{From: "bucket " + bucket.Name()}
	e, err := bucket.Newest(ctx, tenant)
	if k.Note, k.Err = e.Data, err; err == nil && e.Data == nil {
		k.Err = fs.ErrNotExist
	}
	return k, nil
}
