package ledger

// OpenCopied opens a copy of the file and its log, as where the two lie on a
// read-only disk, and returns the folder of the copy too.
func OpenCopied(path string) (f *File, folder string, err error) {
	if f, err = openCopy(path); err != nil {
		return nil, "", err
	}
	return f, f.copy, nil
}
