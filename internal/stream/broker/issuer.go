package broker

import (
	"log/slog"
)

// IssuerFile is the name of the file of [IssuerKey] in the data directory's folder "keys".
const IssuerFile = "issuer" + keyEnding

// IssuerKey returns the path of the key that enrols outboxes, and creates a missing key.
func IssuerKey(dataDir string) (path string, err error) { return loadKey(dataDir, "issuer") }

// Issuer returns [IssuerKey], or "" with a warning if the key is not readable.
func Issuer(dataDir string, logger *slog.Logger) string {
	path, err := IssuerKey(dataDir)
	if err == nil {
		_, err = publicKey(path)
	}
	if err != nil {
		if logger == nil {
			logger = slog.New(slog.DiscardHandler)
		}
		logger.Warn("producers are not enrolled, because the key of the data directory is not readable", "error", err)
		return ""
	}
	return path
}
