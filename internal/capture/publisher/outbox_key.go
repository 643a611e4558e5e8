package publisher

import (
	"context"
	"errors"
	"fmt"
)

// ChangeKeys gives each of the named outboxes a new signing key, see [publish.Publisher.ChangeKey].
// It fails for an outbox that another process uses.
func ChangeKeys(ctx context.Context, opts FlushOptions) error {
	list, err := Outboxes(opts.DataDir, opts.Names...)
	for _, o := range list {
		if e := changeKey(ctx, opts, o); e != nil {
			err = errors.Join(err, fmt.Errorf("change key of outbox %s: %w", o.Name, e))
		}
	}
	return err
}

func changeKey(ctx context.Context, opts FlushOptions, o Outbox) error {
	if o.Open {
		return fmt.Errorf("process %d has it open: stop it first", o.Process)
	}
	opening, cancel := context.WithTimeout(ctx, flushOpen)
	defer cancel()
	p, err := reopen(opening, opts, o)
	if err != nil {
		return err
	}
	err = p.ChangeKey(ctx)
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), interruptedFlush)
	defer stop()
	return errors.Join(err, p.Close(closing))
}
