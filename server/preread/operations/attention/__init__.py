"""Operations on working memory: what has attention, where the work changed, what recurs."""
