
# Without the package bash-completion, what the functions above need of it.
__culvert_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    # Bash divides words at = and :. What no blank separates is joined again.
    local i rest=${COMP_LINE} trimmed
    words=()
    cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        if ((i > 0)) && [[ ${trimmed} == "${rest}" ]]; then
            words[${#words[@]}-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
        rest=${trimmed:${#COMP_WORDS[i]}}
        ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
    done
    cur=${words[cword]}
    prev=
    ((cword > 0)) && prev=${words[cword-1]}
    return 0
}

if ! declare -F _filedir >/dev/null 2>&1; then
    _filedir()
    {
        local name kind=-f
        [[ ${1-} == -d ]] && kind=-d
        compopt -o filenames 2>/dev/null
        while IFS= read -r name; do
            COMPREPLY+=("${name}")
        done < <(compgen "${kind}" -- "${cur}")
    }
fi
