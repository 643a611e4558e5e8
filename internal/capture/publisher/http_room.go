package publisher

import (
	"cmp"
	"context"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/intake"
)

type placeKey struct{}

// placed counts open requests, and refuses a request above the limits. The sender of a request is
// the user of the Unix socket, or the tenant for a request over TCP.
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

func counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if place, ok := r.Context().Value(placeKey{}).(*intake.Place); ok {
			r.Body = place.Body(r)
		}
		next(w, r)
	}
}

func forget(ctx context.Context) {
	if place, ok := ctx.Value(placeKey{}).(*intake.Place); ok {
		place.Forget()
	}
}
