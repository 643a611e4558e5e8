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

// askLimit is how long a verification waits for a broker: it can do without.
const askLimit = 5 * time.Second

// askBucket adds the checkpoint that the broker's bucket has of the ledger at path,
// where there is a broker to ask: one that was named, or the one that runs in the
// data directory whose ledger it is. Nothing is started for it.
func (v verification) askBucket(ctx context.Context, shared *cli.Shared, opts *verifier.Options, path string) error {
	if !v.bucket || shared.NATSURL == "" && v.file != "" {
		return nil
	}
	tenant := opts.Tenant
	if v.file != "" && shared.Tenant == "" {
		r, err := ledger.OpenReader(path)
		if err != nil {
			return nil // the verification tells what is wrong with it
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

// askBroker returns what the bucket at the broker has of tenant.
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
