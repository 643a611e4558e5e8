package ledger

import "context"

// Find returns the event with this id, and whether there is one.
func (r *Reader) Find(ctx context.Context, id string) (Entry, bool, error) {
	page, err := r.page(ctx, -1, ` AND l.id = ?4 AND l.class = 'event'`, id)
	if err != nil || len(page) == 0 {
		return Entry{}, false, err
	}
	return page[0], true, nil
}
