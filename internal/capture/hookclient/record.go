package hookclient

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

const recordTimeout = 500 * time.Millisecond

// SharedOutbox returns the path of the outbox that all hook commands of a data directory share. The
// publisher of the directory sends the events.
func SharedOutbox(dataDir string) string { return filepath.Join(dataDir, "outbox", "shared") }

type recorder struct {
	publisher *publisherClient
	dataDir   string
	tenant    string
	redactor  outbox.Redactor
}

// Append implements [hooks.Appender].
func (r *recorder) Append(ctx context.Context, e events.Event) (events.Event, error) {
	_, err := r.record(ctx, []events.Event{e})
	return e, err
}

func (r *recorder) record(ctx context.Context, list []events.Event) (warnings []error, err error) {
	ctx = context.WithoutCancel(ctx)
	redactor := r.redactor
	if redactor == nil {
		if redactor, err = redact.New(redact.Options{}); err != nil {
			return nil, fmt.Errorf("record: %w", err)
		}
	}
	for i := range list {
		if err := redactor.Redact(&list[i]); err != nil {
			return nil, fmt.Errorf("redact event %s: %w", list[i].ID, err)
		}
	}
	if r.publisher.url != "" && !r.publisher.unreachable.Load() {
		sending, cancel := context.WithTimeout(ctx, recordTimeout)
		defer cancel()
		err := r.publisher.send(sending, list, r.tenant)
		if err == nil {
			return slices.DeleteFunc([]error{r.resend(ctx)}, func(err error) bool { return err == nil }), nil
		}
		// The publisher may have stored the events already. Store them here too, because it drops
		// duplicates.
		warnings = append(warnings, fmt.Errorf("events stay here: %w", err))
	}
	if r.publisher.url != "" {
		err := spoolRemote(r.dataDir, r.publisher.url, list)
		if !errors.Is(err, errSpoolFull) {
			return warnings, err
		}
		warnings = append(warnings, err)
	}
	swept, err := r.store(ctx, list)
	if swept != nil {
		warnings = append(warnings, swept)
	}
	return warnings, err
}

func (r *recorder) store(ctx context.Context, list []events.Event) (warning, err error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	opts := outbox.SharedOptions{Tenant: orDefault(r.tenant), Full: outbox.Shed, Redactor: outbox.NoRedaction, Journal: outbox.JournalDir(r.dataDir)}
	_, err = outbox.AppendShared(ctx, SharedOutbox(r.dataDir), opts, list...)
	if errors.Is(err, context.DeadlineExceeded) {
		err = spool(r.dataDir, "", list)
	} else if err == nil {
		warning = Sweep(ctx, r.dataDir)
		if errors.Is(warning, context.DeadlineExceeded) {
			warning = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return warning, nil
}
