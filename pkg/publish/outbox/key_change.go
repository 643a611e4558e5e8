package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

const nextKeyName = "producer.next.nk"

// ChangeKey replaces the key of the outbox, and returns when the old key is deleted. The old key
// signs the new one for each tenant. If ctx ends earlier, the change continues while the outbox is
// open.
func (p *Publisher) ChangeKey(ctx context.Context) error {
	if err := p.changeKey(ctx); err != nil {
		return fmt.Errorf("change key: %w", errors.Join(err, p.fwd.status.lastError()))
	}
	return nil
}

func (p *Publisher) changeKey(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case p.fwd.keyChanges <- done:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return ErrClosed
	}
}

func (f *forwarder) beginKeyChange(ctx context.Context, done chan error) {
	f.awaitKey = append(f.awaitKey, done)
	if f.backlog.id.next != nil {
		return
	}
	next, err := openSigner(f.opts, nextKeyName)
	if err == nil {
		err = f.outbox.begin(ctx)
	}
	if err != nil {
		f.answerKeyChange(err)
		return
	}
	defer f.outbox.end()
	f.outbox.id.next, f.backlog.id.next = &next, &next
}

func (f *forwarder) answerKeyChange(err error) {
	for _, done := range f.awaitKey {
		done <- err
	}
	f.awaitKey = nil
}

func (f *forwarder) changeKey(ctx context.Context) error {
	next := f.backlog.id.next
	if next == nil {
		return nil
	}
	isComplete := true
	for tenant, ch := range f.backlog.cursor.Chains() {
		if !ch.Begun() || ch.Key == next.public {
			continue
		}
		if f.suspended.isSuspended(tenant) {
			isComplete = false
			continue
		}
		switch err := f.delivery.deliver(ctx, []*group{{tenant: tenant, rekeys: true}}); {
		case errors.Is(err, errSuspended):
			isComplete = false
		case err != nil:
			return err
		}
	}
	if !isComplete {
		return nil
	}
	if err := errors.Join(f.seals.withRuns(f.backlog.cursor.Save), f.backlog.cursor.Sync()); err != nil {
		return err
	}
	err := f.endKeyChange(ctx)
	f.answerKeyChange(err)
	return err
}

// If a crash interrupts endKeyChange, openKey completes the change at the next start.
func (f *forwarder) endKeyChange(ctx context.Context) error {
	o := f.outbox
	if err := o.begin(ctx); err != nil {
		return fmt.Errorf("change key: %w", err)
	}
	defer o.end()
	id := o.id
	id.OldKey, id.Key = id.signer.public, id.next.public
	if err := id.save(o.opts.Dir); err != nil {
		return err
	}
	if err := id.installNext(o.opts.Dir); err != nil {
		return err
	}
	o.id, f.backlog.id = id, id
	o.opts.Logger.Info("key of the outbox changed", "producer", id.Producer, "old", id.OldKey, "new", id.Key)
	return nil
}

func (id *identity) installNext(dir string) error {
	if err := os.Rename(filepath.Join(dir, nextKeyName), filepath.Join(dir, keyName)); err != nil {
		return fmt.Errorf("install key: %w", err)
	}
	id.signer, id.next = *id.next, nil
	return disk.SyncDir(dir)
}

func (id *identity) openNext(opts Options) error {
	if _, err := os.Stat(filepath.Join(opts.Dir, nextKeyName)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	next, err := openSigner(opts, nextKeyName)
	if err != nil {
		return err
	}
	id.next = &next
	if id.Key == next.public {
		return id.installNext(opts.Dir)
	}
	return nil
}

func (id identity) signerOf(ch cursor.Chain) (s signer, next string) {
	switch {
	case id.next == nil:
		return id.signer, ""
	case ch.Key == id.next.public || !ch.Begun():
		return *id.next, ""
	}
	return id.signer, id.next.public
}
