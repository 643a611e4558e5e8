package broker

import (
	"context"
	"errors"
	"time"
)

const closeTimeout = 10 * time.Second

// Use opens a broker, calls work with it, and closes it when work returns, even if ctx has ended.
func Use(ctx context.Context, opts Options, work func(*Broker) error) (err error) {
	b, err := Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, b.Close(closing))
	}()
	return work(b)
}
