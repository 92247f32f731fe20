# Sourced, not run. `cargo_for TARGET SUBCOMMAND ...` calls cargo for a target that may not be
# installed, and sets COMPILER:
# 1. with the installed standard library, if there is one;
# 2. after `rustup target add`, if that works within a minute;
# 3. else with a rustc that carries its library's source (Debian: rustc-web rust-web-src), which
#    builds core for the target.

needed_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "${BASH_SOURCE[0]%/*}/../../Cargo.toml")

apt_get() {
    local sudo=
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    # One at a time, whoever asks.
    DEBIAN_FRONTEND=noninteractive flock "${TMPDIR:-/tmp}/ictd-apt.lock" \
        $sudo apt-get -qq "$@" >/dev/null 2>&1
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    apt_get install -y --no-install-recommends "$@" ||
        { apt_get update && apt_get install -y --no-install-recommends "$@"; }
}

# need PROGRAM PACKAGE...: installs what is missing.
need() {
    local program=$1
    shift
    command -v "$program" >/dev/null && return 0
    echo "installing $* for $program" >&2
    apt_install "$@" && command -v "$program" >/dev/null && return 0
    echo "missing: $program (Debian: apt-get install $*)" >&2
    return 1
}

has_target() {
    [ -n "$(find "$(rustc --print target-libdir --target "$1" 2>/dev/null)" -name 'libcore-*' \
        -print -quit 2>/dev/null)" ]
}

# version_of RUSTC: such as 1.96.0; nothing if there is none.
version_of() {
    "$1" -V 2>/dev/null | cut -d' ' -f2
}

# builds_core RUSTC: it is new enough for the workspace, and carries its library's source.
builds_core() {
    local version
    version=$(version_of "$1")
    [ -n "$version" ] && printf '%s\n' "$needed_rust" "$version" | sort -CV &&
        [ -e "$("$1" --print sysroot)/lib/rustlib/src/rust/library/core" ]
}

cargo_for() {
    local target=$1
    shift
    if ! has_target "$target" && [ -z "${RUSTUP_TRIED:-}" ] && command -v rustup >/dev/null; then
        # One try for all targets: without the server each would wait in vain.
        timeout 60 rustup -q target add "$target" >/dev/null 2>&1 || RUSTUP_TRIED=1
    fi
    if has_target "$target"; then
        COMPILER=$(rustc -V | cut -d' ' -f1,2)
        cargo "$1" --target "$target" "${@:2}"
        return
    fi
    local rustc=${RUSTC_WITH_SOURCE:-/usr/bin/rustc}
    if ! builds_core "$rustc" && [ -z "${APT_TRIED:-}" ]; then
        APT_TRIED=1
        echo "installing a rustc with source for $target" >&2
        # The package lists of a new machine may offer one that is too old.
        { apt_get update; apt_install rustc-web rust-web-src; } || true
    fi
    if ! builds_core "$rustc"; then
        local found
        found=$(version_of "$rustc" || true)
        echo "no standard library for $target, and to build it rustc $needed_rust or later with its source" \
            "is needed; $rustc is ${found:-missing}: rustup target add $target, or on Debian" \
            "apt-get update && apt-get install rustc-web rust-web-src" >&2
        return 1
    fi
    local host lld
    host=$(rustc -vV | sed -n 's/^host: //p')
    lld=$(rustc --print sysroot)/lib/rustlib/$host/bin
    COMPILER=$("$rustc" -V | cut -d' ' -f1,2)
    PATH=$lld:$PATH RUSTC_BOOTSTRAP=1 RUSTC=$rustc cargo "$1" --target "$target" -Zbuild-std=core \
        ${BUILD_STD_FEATURES:+-Zbuild-std-features=$BUILD_STD_FEATURES} "${@:2}"
}
