package publisher

import (
	"cmp"
	"context"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/intake"
)

type placeKey struct{}

// placed gives each request a place among those that are handled, and refuses it if there is none.
// A user of the Unix socket is a sender, and otherwise a tenant is.
func (h *handler) placed(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		place, err := h.room.Enter(cmp.Or(UserOf(r.Context()), orDefault(TenantOf(r.Context()))))
		if err != nil {
			h.refuse(w, r, problemOf(err), err)
			return
		}
		defer place.Leave()
		next(w, r.WithContext(context.WithValue(r.Context(), placeKey{}, place)))
	}
}

// counted counts the decompressed body.
func counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if place, ok := r.Context().Value(placeKey{}).(*intake.Place); ok {
			r.Body = place.Body(r)
		}
		next(w, r)
	}
}

// forget gives the bytes of stored events back, which are no longer in memory.
func forget(ctx context.Context) {
	if place, ok := ctx.Value(placeKey{}).(*intake.Place); ok {
		place.Forget()
	}
}
