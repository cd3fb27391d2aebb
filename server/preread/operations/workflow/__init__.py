"""Operations on workflows: where each feature is, what comes next, whether it can be released."""
