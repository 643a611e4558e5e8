package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const askLimit = 5 * time.Second

func (v verification) askBucket(cmd *cobra.Command, shared *cli.Shared, opts *verifier.Options, path string) error {
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
	ctx, cancel := context.WithTimeout(cmd.Context(), askLimit)
	defer cancel()
	k, err := askBroker(ctx, cmd, shared, tenant)
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

func askBroker(ctx context.Context, cmd *cobra.Command, shared *cli.Shared, tenant string) (verifier.Anchored, error) {
	o := service.Broker(cmd, shared, subjects.AuditorRole)
	o.Name = "auditor verify"
	nc, err := broker.Dial(ctx, o)
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
		k.Err = verifier.ErrNotStored
	}
	return k, nil
}
