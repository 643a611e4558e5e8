package hookclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

const refusedSuffix = ".refused"

const maxResend = 200

// ResendOptions configure [Resend].
type ResendOptions struct {
	DataDir, Tenant, Publisher, Token string
	Parts                             Parts
}

// Resend sends the events that earlier hook commands stored in files because they could not reach
// the publisher. It skips files for other publishers. The publisher drops duplicates.
func Resend(ctx context.Context, opts ResendOptions) (files int, err error) {
	r := &recorder{dataDir: opts.DataDir, tenant: opts.Tenant, publisher: &publisherClient{url: opts.Publisher, token: opts.Token, dataDir: opts.DataDir, parts: opts.Parts}}
	for {
		n, err := r.sendSpool(ctx, remoteSuffix(opts.Publisher), spoolSuffix)
		files += n
		if err != nil || n == 0 {
			return files, err
		}
	}
}

func (r *recorder) resend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	_, err := r.sendSpool(ctx, remoteSuffix(r.publisher.url))
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errSilent) {
		return nil
	}
	return err
}

func (r *recorder) sendSpool(ctx context.Context, suffixes ...string) (sent int, err error) {
	entries, err := os.ReadDir(SpoolDir(r.dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, entry := range entries {
		isOurs := func(suffix string) bool { return strings.HasSuffix(entry.Name(), suffix) }
		if !slices.ContainsFunc(suffixes, isOurs) || !entry.Type().IsRegular() {
			continue
		}
		if sent == maxResend || err != nil {
			break
		}
		var ok bool
		if ok, err = r.sendFile(ctx, filepath.Join(SpoolDir(r.dataDir), entry.Name())); ok {
			sent++
		}
	}
	return sent, err
}

func (r *recorder) sendFile(ctx context.Context, path string) (sent bool, err error) {
	lock, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("resend: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	list, err := spooled(path)
	if err != nil {
		return false, err
	}
	err = r.publisher.send(ctx, list, r.tenant)
	var status *statusError
	switch {
	case len(list) == 0:
	case errors.As(err, &status) && status.permanent():
		return false, errors.Join(fmt.Errorf("resend: events of a hook are kept in %s: %w", path+refusedSuffix, err), os.Rename(path, path+refusedSuffix))
	case err != nil:
		return false, fmt.Errorf("resend: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("resend: %w", err)
	}
	return true, nil
}

type statusError struct {
	code   int
	status string
}

// Error returns the status.
func (e *statusError) Error() string { return "it answered " + e.status }

const (
	statusBadRequest = 400
	statusTooLarge   = 413
)

func (e *statusError) permanent() bool {
	return e.code == statusBadRequest || e.code == statusTooLarge
}
