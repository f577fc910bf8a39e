//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package patch

import (
	"errors"
	"os"
)

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
