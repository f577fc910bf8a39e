package source

import (
	"path/filepath"

	"github.com/modelpatch/modelpatch/remote/address"
)

// IsAddress reports whether a model is named by an address rather than by a path: https://,
// hf://, oci://. See OpenOptions.Remote.
func IsAddress(path string) bool { return address.Is(path) }

// ShownPath is how reports and messages name a model: its path, or its address without what may
// be secret in it.
func ShownPath(path string) string { return address.Show(path) }

// PathBeside is the name of a file of a model's folder, for reports.
func PathBeside(model, name string) string {
	if IsAddress(model) {
		return address.Show(address.Beside(model, name))
	}
	return filepath.Join(filepath.Dir(model), name)
}
